#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/images/formats.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kLargestNumber = int64_t{1} << 31;

absl::Status Damaged() {
  return absl::InvalidArgumentError("damaged PNM: a number is missing or too large");
}

// Reads the numbers of a PNM: as text, which comments may interrupt, or as bits and bytes.
class Reader {
 public:
  explicit Reader(FileBytes file) : file_(file) {}

  // The next number of text; the character behind it is taken, too. nullopt: there is none.
  std::optional<int64_t> Number() {
    SkipSpace();
    int64_t number = 0;
    const size_t begin = at_;
    for (; at_ < file_.size() && absl::ascii_isdigit(file_[at_]); ++at_) {
      number = number * 10 + (file_[at_] - '0');
      if (number >= kLargestNumber) return std::nullopt;
    }
    if (at_ == begin) return std::nullopt;
    ++at_;
    return number;
  }
  // A bit of text, which may touch the next one.
  std::optional<int64_t> Bit() {
    SkipSpace();
    if (at_ >= file_.size() || (file_[at_] != '0' && file_[at_] != '1')) return std::nullopt;
    return file_[at_++] - '0';
  }
  // One byte, or two with the high one first.
  std::optional<int64_t> Bytes(int count) {
    if (file_.size() < at_ + count) return std::nullopt;
    int64_t number = 0;
    for (; count > 0; --count) number = number << 8 | file_[at_++];
    return number;
  }

 private:
  void SkipSpace() {
    while (at_ < file_.size() && (absl::ascii_isspace(file_[at_]) || file_[at_] == '#')) {
      const bool is_comment = file_[at_] == '#';
      while (is_comment && at_ < file_.size() && file_[at_] != '\n') ++at_;
      ++at_;
    }
  }

  FileBytes file_;
  size_t at_ = 2;  // behind the P and the digit
};

struct Form {
  bool is_bitmap, is_text;
  int channels;
  int64_t most = 1;  // the largest sample
};

// One sample; `bits` are those of a packed byte that are left, in the high positions.
std::optional<int64_t> Sample(Reader& reader, const Form& form, int64_t x, int64_t& bits) {
  if (form.is_bitmap && form.is_text) return reader.Bit();
  if (form.is_text) return reader.Number();
  if (!form.is_bitmap) return reader.Bytes(form.most > 255 ? 2 : 1);
  if (x % 8 == 0) {
    const std::optional<int64_t> byte = reader.Bytes(1);
    if (!byte.has_value()) return std::nullopt;
    bits = *byte;
  }
  return bits >> (7 - x % 8) & 1;
}

}  // namespace

absl::StatusOr<HostTensor> DecodePnm(FileBytes file) {
  const int kind = file[1] - '0';
  Form form{.is_bitmap = kind % 3 == 1, .is_text = kind <= 3, .channels = kind % 3 == 0 ? 3 : 1};
  Reader reader(file);
  const std::optional<int64_t> width = reader.Number(), height = reader.Number();
  const std::optional<int64_t> most = form.is_bitmap ? form.most : reader.Number();
  if (!width || !height || !most || *most < 1 || *most > 65535) return Damaged();
  form.most = *most;
  ASSIGN_OR_RETURN(HostTensor image, BlankImage(*width, *height));
  int64_t bits = 0;
  uint8_t* to = image.mutable_data<uint8_t>().data();
  for (int64_t pixel = 0; pixel < *width * *height; ++pixel) {
    for (int c = 0; c < form.channels; ++c) {
      std::optional<int64_t> sample = Sample(reader, form, pixel % *width, bits);
      if (!sample.has_value() || *sample > form.most) return Damaged();
      if (form.is_bitmap) sample = 1 - *sample;  // 1 is black
      to[c] = static_cast<uint8_t>((*sample * 255 + form.most / 2) / form.most);
    }
    if (form.channels == 1) to[1] = to[2] = to[0];
    to += 3;
  }
  return image;
}

}  // namespace onnx_cudnn

#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/images/formats.h"

namespace onnx_cudnn {
namespace {

constexpr uint32_t kFileHeader = 14, kCoreHeader = 12;
constexpr uint32_t kUncompressed = 0, kMasks = 3;

// The fields of both headers, which are stored with the lowest byte first.
struct Header {
  uint32_t pixels_at = 0, palette_at = 0, palette_entry = 4;
  int64_t width = 0, height = 0;  // height < 0: rows from the top
  uint32_t bits = 0;              // of a pixel
  uint32_t compression = kUncompressed;
};

template <typename T>
T At(FileBytes file, size_t offset) {
  T value = 0;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

absl::Status Damaged() { return absl::InvalidArgumentError("damaged BMP: it ends early"); }

absl::StatusOr<Header> ReadHeader(FileBytes file) {
  if (file.size() < kFileHeader + kCoreHeader) return Damaged();
  Header header{.pixels_at = At<uint32_t>(file, 10)};
  const auto size = At<uint32_t>(file, kFileHeader);
  if (size == kCoreHeader) {
    header.width = At<uint16_t>(file, 18);
    header.height = At<uint16_t>(file, 20);
    header.bits = At<uint16_t>(file, 24);
    header.palette_entry = 3;
  } else {
    if (size < 40 || size > 124 || file.size() < kFileHeader + size) return Damaged();
    header.width = At<int32_t>(file, 18);
    header.height = At<int32_t>(file, 22);
    header.bits = At<uint16_t>(file, 28);
    header.compression = At<uint32_t>(file, 30);
  }
  header.palette_at = kFileHeader + size;
  // 32 bits may state masks; those of blue, green and red in this order are the usual ones.
  const bool has_usual_masks = header.compression == kMasks && header.bits == 32 &&
                               file.size() >= 66 && At<uint32_t>(file, 54) == 0xff0000 &&
                               At<uint32_t>(file, 58) == 0xff00 && At<uint32_t>(file, 62) == 0xff;
  const bool has_usual_bits = header.bits == 1 || header.bits == 4 || header.bits == 8 ||
                              header.bits == 24 || header.bits == 32;
  if (!has_usual_bits || (header.compression != kUncompressed && !has_usual_masks)) {
    return absl::UnimplementedError(
        absl::StrCat("BMP: expected 1, 4, 8, 24 or 32 bits a pixel without compression, found ",
                     header.bits, " with compression ", header.compression));
  }
  return header;
}

// The bytes of pixel x: blue, green, red; nullptr: its color is beyond the file.
const uint8_t* Pixel(FileBytes file, const Header& header, const uint8_t* row, int64_t x) {
  if (header.bits >= 24) return row + x * (header.bits / 8);
  const uint32_t per_byte = 8 / header.bits;
  const uint32_t shift = 8 - header.bits * (x % per_byte + 1);
  const uint32_t index = row[x / per_byte] >> shift & ((1u << header.bits) - 1);
  const uint64_t at = header.palette_at + uint64_t{index} * header.palette_entry;
  return at + 3 > file.size() ? nullptr : file.data() + at;
}

}  // namespace

absl::StatusOr<HostTensor> DecodeBmp(FileBytes file) {
  ASSIGN_OR_RETURN(const Header header, ReadHeader(file));
  const bool from_top = header.height < 0;
  const int64_t height = from_top ? -header.height : header.height;
  ASSIGN_OR_RETURN(HostTensor image, BlankImage(header.width, height));
  const int64_t row_bytes = (header.width * header.bits + 31) / 32 * 4;
  if (header.pixels_at > file.size() ||
      row_bytes * height > static_cast<int64_t>(file.size() - header.pixels_at)) {
    return Damaged();
  }
  uint8_t* sample = image.mutable_data<uint8_t>().data();
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* row =
        file.data() + header.pixels_at + (from_top ? y : height - 1 - y) * row_bytes;
    for (int64_t x = 0; x < header.width; ++x) {
      const uint8_t* pixel = Pixel(file, header, row, x);
      if (pixel == nullptr) return Damaged();
      for (int c = 2; c >= 0; --c) *sample++ = pixel[c];
    }
  }
  return image;
}

}  // namespace onnx_cudnn

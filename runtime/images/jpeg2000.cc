#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/images/formats.h"

namespace onnx_cudnn {
namespace {

constexpr uint32_t kMostComponents = 4;

struct Source {
  FileBytes file;
  size_t at = 0;
};

OPJ_SIZE_T Read(void* to, OPJ_SIZE_T bytes, void* data) {
  auto& source = *static_cast<Source*>(data);
  const size_t count = std::min<size_t>(bytes, source.file.size() - source.at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.file.data() + source.at, count);
  source.at += count;
  return count;
}
OPJ_OFF_T Skip(OPJ_OFF_T bytes, void* data) {
  auto& source = *static_cast<Source*>(data);
  if (bytes < 0) return -1;
  const auto count = std::min<int64_t>(bytes, source.file.size() - source.at);
  source.at += count;
  return count;
}
OPJ_BOOL Seek(OPJ_OFF_T offset, void* data) {
  auto& source = *static_cast<Source*>(data);
  if (offset < 0 || std::cmp_greater(offset, source.file.size())) return OPJ_FALSE;
  source.at = offset;
  return OPJ_TRUE;
}

void NoteError(const char* text, void* error) {
  auto& first = *static_cast<std::string*>(error);
  if (first.empty()) first = absl::StripSuffix(text, "\n");
}
void Ignore(const char*, void*) {}

using Codec = std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)>;
using Stream = std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)>;
using Decoded = std::unique_ptr<opj_image_t, void (*)(opj_image_t*)>;

Stream Open(Source& source) {
  Stream stream(opj_stream_default_create(/*is_input=*/OPJ_TRUE), opj_stream_destroy);
  opj_stream_set_read_function(stream.get(), Read);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_stream_set_seek_function(stream.get(), Seek);
  opj_stream_set_user_data(stream.get(), &source, /*free=*/nullptr);
  opj_stream_set_user_data_length(stream.get(), source.file.size());
  return stream;
}

absl::Status CheckForm(const opj_image_t& image) {
  const bool is_known =
      image.color_space == OPJ_CLRSPC_SRGB || image.color_space == OPJ_CLRSPC_GRAY ||
      image.color_space == OPJ_CLRSPC_UNSPECIFIED || image.color_space == OPJ_CLRSPC_UNKNOWN;
  if (!is_known || image.numcomps < 1 || image.numcomps > kMostComponents) {
    return absl::UnimplementedError(absl::StrCat("JPEG 2000: expected gray or RGB, found ",
                                                 image.numcomps, " components of color space ",
                                                 static_cast<int>(image.color_space)));
  }
  for (uint32_t i = 0; i < image.numcomps; ++i) {
    const opj_image_comp_t& component = image.comps[i];
    if (component.dx != 1 || component.dy != 1 || component.prec < 1 || component.prec > 16 ||
        component.sgnd != 0) {
      return absl::UnimplementedError(
          "JPEG 2000: expected whole components of 1 to 16 bits without sign");
    }
  }
  return absl::OkStatus();
}

// A sample of `bits` as one of 8.
uint8_t EightBits(int32_t sample, uint32_t bits) {
  const int32_t most = (1 << bits) - 1;
  return static_cast<uint8_t>(std::clamp(sample, 0, most) * 255 / most);
}

}  // namespace

absl::StatusOr<HostTensor> DecodeJpeg2000(FileBytes file) {
  Source source{.file = file};
  std::string error;
  const auto damaged = [&] {
    return absl::InvalidArgumentError(absl::StrCat("damaged JPEG 2000: ", error));
  };
  const Codec codec(opj_create_decompress(file[0] == 0 ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K),
                    opj_destroy_codec);
  opj_set_error_handler(codec.get(), NoteError, &error);
  opj_set_warning_handler(codec.get(), Ignore, nullptr);
  opj_set_info_handler(codec.get(), Ignore, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  const Stream stream = Open(source);
  opj_image_t* header = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) ||
      !opj_read_header(stream.get(), codec.get(), &header)) {
    return damaged();
  }
  const Decoded image(header, opj_image_destroy);
  RETURN_IF_ERROR(CheckForm(*image));
  const int64_t width = int64_t{image->x1} - image->x0, height = int64_t{image->y1} - image->y0;
  ASSIGN_OR_RETURN(HostTensor rgb, BlankImage(width, height));
  if (!opj_decode(codec.get(), stream.get(), image.get()) ||
      !opj_end_decompress(codec.get(), stream.get())) {
    return damaged();
  }
  RETURN_IF_ERROR(CheckForm(*image));
  for (int c = 0; c < 3; ++c) {
    const opj_image_comp_t& from = image->comps[image->numcomps < 3 ? 0 : c];
    if (from.data == nullptr || from.w != width || from.h != height) return damaged();
    uint8_t* to = rgb.mutable_data<uint8_t>().data() + c;
    for (int64_t i = 0; i < width * height; ++i) to[3 * i] = EightBits(from.data[i], from.prec);
  }
  return rgb;
}

}  // namespace onnx_cudnn

#include "runtime/ops/image_decoder.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {
namespace {

std::string FormatOf(const Node& node) { return node.attrs().String("pixel_format", "RGB"); }

Support Check(const Node& node) {
  if (node.input(0).dtype() != DType::kU8) return Support::No("the type is not implemented");
  if (DecodeImage == nullptr) return Support::No(kNoImageDecoders);
  const std::string format = FormatOf(node);
  if (format == "RGB" || format == "BGR" || format == "Grayscale") return Support::Yes();
  return Support::No(absl::StrCat("pixel_format: expected RGB, BGR or Grayscale, found ", format));
}

void SwapRedAndBlue(HostTensor& image) {
  const absl::Span<uint8_t> samples = image.mutable_data<uint8_t>();
  for (size_t i = 0; i < samples.size(); i += 3) std::swap(samples[i], samples[i + 2]);
}

// The luma of ITU-R BT.601 in 16 bits, rounded: the numbers of ONNX's reference.
HostTensor Gray(const HostTensor& image) {
  HostTensor gray = HostTensor::Allocate(DType::kU8, {image.dims()[0], image.dims()[1], 1});
  const uint8_t* pixel = image.data<uint8_t>().data();
  for (uint8_t& luma : gray.mutable_data<uint8_t>()) {
    luma = (19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + (1 << 15)) >> 16;
    pixel += 3;
  }
  return gray;
}

absl::StatusOr<std::vector<HostTensor>> Decode(const Node& node) {
  ASSIGN_OR_RETURN(HostTensor image, DecodeImage(node.input(0).constant().data<uint8_t>()));
  const std::string format = FormatOf(node);
  if (format == "BGR") SwapRedAndBlue(image);
  if (format == "Grayscale") image = Gray(image);
  return std::vector<HostTensor>{std::move(image)};
}

}  // namespace

OpDef ImageDecoderOp() { return {.types = {DType::kU8}, .check = Check, .evaluate = Decode}; }

}  // namespace onnx_cudnn

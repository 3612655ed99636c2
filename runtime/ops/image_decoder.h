// The decoders of ImageDecoder, which a build may lack: runtime/images has them.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Decodes a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, recognized by its first bytes; at
// most 100 million pixels. Gray becomes RGB, alpha is dropped, an orientation that the file asks
// for is ignored.
//   returns  u8[height,width,3], RGB
//   errors   InvalidArgument: another format, a damaged file, too large. Unimplemented: a form of
//            a format that is not taken
// Null in programs that are linked without runtime/images.
[[gnu::weak]] absl::StatusOr<HostTensor> DecodeImage(absl::Span<const uint8_t> file);

// What ImageDecoder is refused with by programs without decoders.
inline constexpr char kNoImageDecoders[] =
    "this build has no image decoders (ONNX_CUDNN_IMAGE_DECODER)";

}  // namespace onnx_cudnn

// One function per format; all as DecodeImage (runtime/ops/image_decoder.h).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

using FileBytes = absl::Span<const uint8_t>;

inline constexpr int64_t kMaxPixels = 100'000'000;

// Uninitialized u8[height,width,3]. InvalidArgument: no pixels, or more than kMaxPixels.
absl::StatusOr<HostTensor> BlankImage(int64_t width, int64_t height);

absl::StatusOr<HostTensor> DecodeBmp(FileBytes file);  // without compression
absl::StatusOr<HostTensor> DecodeJpeg(FileBytes file);
absl::StatusOr<HostTensor> DecodeJpeg2000(FileBytes file);  // gray or RGB
absl::StatusOr<HostTensor> DecodePng(FileBytes file);
absl::StatusOr<HostTensor> DecodePnm(FileBytes file);
absl::StatusOr<HostTensor> DecodeTiff(FileBytes file);  // the first image
absl::StatusOr<HostTensor> DecodeWebp(FileBytes file);  // not animated

}  // namespace onnx_cudnn

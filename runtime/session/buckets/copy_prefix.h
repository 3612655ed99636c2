#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace onnx_cudnn {

// Copies row-major elements between host tensors of equal rank whose dims differ: those whose
// indices both have. Others stay.
//   element_bytes  ≥ 1
void CopyPrefix(const void* from, absl::Span<const int64_t> from_dims, void* to,
                absl::Span<const int64_t> to_dims, int64_t element_bytes);

}  // namespace onnx_cudnn

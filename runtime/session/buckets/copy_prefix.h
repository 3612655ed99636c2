#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// The copies of what two row-major tensors of equal rank, whose dims may differ, have in common:
// the elements whose indices both have. As few boxes as planes of rows allow: one unless three axes
// or more differ.
//   element_bytes  ≥ 1
std::vector<BoxCopy> CommonBoxes(const void* from, absl::Span<const int64_t> from_dims, void* to,
                                 absl::Span<const int64_t> to_dims, int64_t element_bytes);

// Does them between host tensors.
void CopyBoxes(absl::Span<const BoxCopy> boxes);

}  // namespace onnx_cudnn

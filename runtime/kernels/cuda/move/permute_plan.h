// Which of the kernels of permute.h moves the elements, and in what pieces.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/move/permute.h"

namespace onnx_cudnn {

// Moves elements along `axes`, which are independent of each other and may come in any order; those
// of one element do nothing. Axes of no element move nothing.
//   returns  no call, or one; nothing where only PermuteLanes can (padding that is not innermost,
//            sizes beyond 32 bits)
std::optional<std::vector<KernelCall>> PlanPermutation(int element_bytes,
                                                       std::vector<PermutedAxis> axes, Slot from,
                                                       Slot to);

}  // namespace onnx_cudnn

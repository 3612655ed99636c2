// Selects a kernel of permute.h for a permutation and its tiling.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/move/permute.h"

namespace onnx_cudnn {

// Copies elements along independent `axes`, which may come in any order; axes of one element are
// ignored. An axis without elements makes the copy empty.
//   returns  no call or one call; nullopt if only PermuteLanes can (padding that is not innermost,
//            sizes beyond 32 bits)
std::optional<std::vector<KernelCall>> PlanPermutation(int element_bytes,
                                                       std::vector<PermutedAxis> axes, Slot from,
                                                       Slot to);

}  // namespace onnx_cudnn

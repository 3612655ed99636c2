#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The perm of a Transpose of `rank` dims, with the default (reversed axes) written out.
std::vector<int64_t> TransposePerm(const Node& transpose, int rank);
// The perm of the Transpose that takes one by `perm` back.
std::vector<int64_t> InversePerm(const std::vector<int64_t>& perm);

}  // namespace onnx_cudnn

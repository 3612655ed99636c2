#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The perm of a Transpose, its default (the reverse) written out; nullopt where that needs a rank
// that is not known.
std::optional<std::vector<int64_t>> PermOf(const Node& transpose);
bool IsIdentityPerm(const std::vector<int64_t>& perm);

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The perm of a Transpose, its default (the reverse) written out; nullopt where that needs a rank
// that is not known, and where it is no permutation.
std::optional<std::vector<int64_t>> PermOf(const Node& transpose);
bool IsIdentityPerm(const std::vector<int64_t>& perm);
// The perm of a Transpose by `first`, then by `second`; nullopt when they differ in rank.
std::optional<std::vector<int64_t>> ComposedPerm(const std::vector<int64_t>& first,
                                                 const std::vector<int64_t>& second);

}  // namespace onnx_cudnn

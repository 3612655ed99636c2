#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The perm of a Transpose, with the default (reversed axes) written out; nullopt if the default
// needs an unknown rank, or perm is not a permutation.
std::optional<std::vector<int64_t>> PermOf(const Node& transpose);
bool IsIdentityPerm(const std::vector<int64_t>& perm);
// The perm of a Transpose by `first` followed by one by `second`; nullopt if their ranks differ.
std::optional<std::vector<int64_t>> ComposedPerm(const std::vector<int64_t>& first,
                                                 const std::vector<int64_t>& second);

}  // namespace onnx_cudnn

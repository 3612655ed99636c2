#include "passes/rewrite/utils/permutation.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

bool IsPermutation(std::vector<int64_t> perm) {
  std::sort(perm.begin(), perm.end());
  return IsIdentityPerm(perm);
}

}  // namespace

std::optional<std::vector<int64_t>> PermOf(const Node& transpose) {
  const Type& type = transpose.input(0).type();
  std::vector<int64_t> perm(type.dims.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
  if (!transpose.attrs().Has("perm")) {
    return type.ranked ? std::make_optional(std::move(perm)) : std::nullopt;
  }
  perm = transpose.attrs().Ints("perm");
  if (!IsPermutation(perm)) return std::nullopt;
  return perm;
}

bool IsIdentityPerm(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

std::optional<std::vector<int64_t>> ComposedPerm(const std::vector<int64_t>& first,
                                                 const std::vector<int64_t>& second) {
  if (first.size() != second.size()) return std::nullopt;
  std::vector<int64_t> both;
  for (const int64_t axis : second) both.push_back(first[axis]);
  return both;
}

}  // namespace onnx_cudnn

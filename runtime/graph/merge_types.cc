#include "runtime/graph/merge_types.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

absl::Status Contradiction(const Type& standing, const Type& inferred) {
  return absl::InvalidArgumentError(
      absl::StrCat("type is ", ToString(inferred), " by its op, declared ", ToString(standing)));
}

bool IsOpen(const Type& type) {
  return type.kind == Type::Kind::kUnknown || (type.is_tensor() && type.dtype == DType::kUndefined);
}

bool MergeDim(const Dim& inferred, Dim& merged) {
  if (inferred.value >= 0) {
    if (merged.value >= 0) return merged.value == inferred.value;
    merged = inferred;
  } else if (merged.value < 0 && !inferred.symbol.empty() &&
             (merged.symbol.empty() || (merged.made_up() && !inferred.made_up()))) {
    merged = inferred;
  }
  return true;
}

absl::Status MergeElements(const Type& inferred, Type& merged) {
  if (inferred.element == nullptr) return absl::OkStatus();
  if (merged.element == nullptr) {
    merged.element = inferred.element;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Type element, MergeTypes(*merged.element, *inferred.element));
  merged.element = std::make_shared<const Type>(std::move(element));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Type> UnionOfTypes(const Type& a, const Type& b) {
  if (IsOpen(a) || IsOpen(b)) {
    const Type& other = IsOpen(a) ? b : a;
    return other.is_tensor() ? Type{.kind = other.kind, .dtype = other.dtype} : Type{};
  }
  if (a.kind != b.kind || a.dtype != b.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("one branch gives ", ToString(a), ", the other ", ToString(b)));
  }
  Type both{.kind = a.kind, .dtype = a.dtype};
  if (a.element != nullptr && b.element != nullptr) {
    ASSIGN_OR_RETURN(Type element, UnionOfTypes(*a.element, *b.element));
    both.element = std::make_shared<const Type>(std::move(element));
  }
  both.ranked = a.ranked && b.ranked && a.dims.size() == b.dims.size();
  for (size_t i = 0; both.ranked && i < a.dims.size(); ++i) {
    both.dims.push_back(a.dims[i] == b.dims[i] ? a.dims[i] : Dim{});
  }
  return both;
}

absl::StatusOr<Type> MergeTypes(const Type& standing, const Type& inferred) {
  if (standing.kind == Type::Kind::kUnknown) return inferred;
  if (inferred.kind == Type::Kind::kUnknown) return standing;
  Type merged = standing;
  if (merged.dtype == DType::kUndefined) merged.dtype = inferred.dtype;
  if (merged.kind != inferred.kind ||
      (inferred.dtype != DType::kUndefined && merged.dtype != inferred.dtype)) {
    return Contradiction(standing, inferred);
  }
  RETURN_IF_ERROR(MergeElements(inferred, merged));
  if (!inferred.ranked) return merged;
  if (!merged.ranked) {
    merged.ranked = true;
    merged.dims = inferred.dims;
    return merged;
  }
  if (merged.dims.size() != inferred.dims.size()) return Contradiction(standing, inferred);
  for (size_t i = 0; i < merged.dims.size(); ++i) {
    if (!MergeDim(inferred.dims[i], merged.dims[i])) return Contradiction(standing, inferred);
  }
  return merged;
}

}  // namespace onnx_cudnn

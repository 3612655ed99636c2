#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// `standing`, with what it leaves open from `inferred`: a number stays or replaces a symbol, a
// symbol of the file stays or replaces an unknown dim or one that inference made up.
//   errors  InvalidArgument: the two contradict each other (kind, dtype, rank, a dim's number),
//   with both types
absl::StatusOr<Type> MergeTypes(const Type& standing, const Type& inferred);

// What is certain of a Value that is of either type: dims that both have. Where one type is not
// known, or is a tensor's of unknown dtype, a tensor's dtype in the other.
//   errors  InvalidArgument: the two differ in kind or dtype
absl::StatusOr<Type> UnionOfTypes(const Type& a, const Type& b);

}  // namespace onnx_cudnn

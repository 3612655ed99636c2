#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// `standing`, completed from `inferred`: a number stays or replaces a symbol; a symbol from the
// file stays or replaces an unknown dim or a made-up symbol.
//   errors  InvalidArgument, with both types: they contradict each other (kind, dtype, rank, the
//           number of a dim)
absl::StatusOr<Type> MergeTypes(const Type& standing, const Type& inferred);

// What holds for a Value that has either type: the dims that both share. If one type is unknown, or
// a tensor of unknown dtype, the result is a tensor with the dtype of the other.
//   errors  InvalidArgument: the two differ in kind or dtype
absl::StatusOr<Type> UnionOfTypes(const Type& a, const Type& b);

}  // namespace onnx_cudnn

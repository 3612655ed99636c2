#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// `standing` with what it leaves open taken from `inferred`: a number stays or replaces a symbol, a
// symbol of the file stays or replaces an unknown dim or one that inference made up.
//   errors  InvalidArgument: the two contradict each other (kind, dtype, rank, a dim's number),
//   with both types
absl::StatusOr<Type> MergeTypes(const Type& standing, const Type& inferred);

}  // namespace onnx_cudnn

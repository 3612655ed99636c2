// com.microsoft.Inverse, the only op of onnxruntime's own domain that is not replaced at import.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

bool IsInverse(const Node& node);  // unless a user's library defines the op (custom_op.h)

// The type of the output, that of X: [..., n, n].
//   node    IsInverse, with an input
//   errors  InvalidArgument: X holds no square matrices
absl::StatusOr<Type> InverseType(const Node& node);

}  // namespace onnx_cudnn

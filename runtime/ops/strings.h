// Strings are not stored in arenas, so ops that read or write them are evaluated from constants
// (OpDef::evaluate); the shapes of their outputs may depend on values.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The largest output of strings, counted as in BytesOfStrings.
inline constexpr int64_t kMostStringBytes = int64_t{1} << 24;

// Whether an input or output of `node` holds strings.
bool TouchesStrings(const Node& node);

// The size of a string tensor: an object and its characters per element.
int64_t BytesOfStrings(const HostTensor& tensor);

// ResourceExhausted: more than kMostStringBytes.
absl::Status TooManyStrings();

// The outputs of a Node with constant inputs that touches strings, of an op that also has a
// reference, for numbers; undefined where it has none.
//   errors  Unimplemented: it has no form for strings, a shape is not known. InvalidArgument: dims
//           or values that do not fit. ResourceExhausted: more than kMostStringBytes
absl::StatusOr<std::vector<HostTensor>> EvaluateStrings(const Node& node);

}  // namespace onnx_cudnn

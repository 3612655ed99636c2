// Helpers for the checks of ops.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Whether the present ones of the first `inputs` inputs have the dtype of input 0.
Support CheckSameDType(const Node& node, int inputs);

// Whether input 0, named X, holds matrices: its rank is 2 or more.
Support CheckMatrices(const Node& node);

// Whether `axis`, possibly negative, is an axis of `rank`.
Support CheckAxis(int64_t axis, int rank);
// `axis`, which must be valid, counted from the front.
inline int64_t NormalizedAxis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// Row-major dims around an axis: x[outer, extent, inner].
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};
AxisView ViewAround(absl::Span<const int64_t> dims, int64_t axis);

// InvalidArgument unless `found` are the dims expected of operand `what`.
absl::Status ExpectDims(const char* what, absl::Span<const int64_t> found,
                        absl::Span<const int64_t> expected);
// InvalidArgument unless the last two are equal.
absl::Status ExpectSquares(const char* what, absl::Span<const int64_t> found);

}  // namespace onnx_cudnn

// Constants in the Formats that libraries require.
#pragma once

#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Constant `constant` (its position among the Candidate's constants), viewed with `dims`, in the
// Format `to`, with padding set to zero. If `to` matches the constant's own layout, its bytes are
// used unchanged.
//   dims  with as many elements as the constant: [1,K,1,1] for a bias [K]
//   to    a Format of these dims; larger extents are padding; it has no foreign lanes
Derived Repacked(int constant, absl::Span<const int64_t> dims, const Format& to);

}  // namespace onnx_cudnn

// Constants in the Formats that libraries want.
#pragma once

#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Constant `constant` (a position among the Candidate's constants), seen as `dims`, lane by lane as
// `to` has them, padding zero. Unchanged where those are the constant's own bytes.
//   dims  of as many elements as the constant: [1,K,1,1] for a bias [K]
//   to    a Format of these dims; extents beyond them are padding, foreign lanes there are none
Derived Repacked(int constant, absl::Span<const int64_t> dims, const Format& to);

}  // namespace onnx_cudnn

// Whether two tensors hold the same numbers, as far as their types can tell.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

class Node;

// The elements as doubles (integers of 64 bits rounded). Unimplemented: strings, complex and packed
// types, floats of 8 bits.
absl::StatusOr<std::vector<double>> ElementsAsDoubles(const HostTensor& tensor);

struct Difference {
  double largest = 0;           // |found − expected|; infinite where only one is NaN
  double largest_expected = 0;  // |expected|, finite ones
  int64_t beyond = 0;  // elements beyond rtol × |expected| + atol × largest_expected; equal
                       // infinities and NaNs are none
  std::string type;    // set when dtype or dims differ: "expected f32[1,2], found f32[2]"; nothing
                       // else was compared then
  bool ok() const { return type.empty() && beyond == 0; }
};
// Tolerances are for floats: other dtypes are compared exactly. Errors as ElementsAsDoubles'.
absl::StatusOr<Difference> Compare(const HostTensor& found, const HostTensor& expected, double rtol,
                                   double atol);

// |difference| ≤ relative × |expected| + absolute × the largest |expected|. Other dtypes than
// floats are compared exactly.
struct Tolerance {
  double relative = 0, absolute = 0;
};
// What an output of that dtype may differ by. tf32: of f32 products whose operands were rounded.
Tolerance ToleranceOf(DType dtype, bool tf32);
// The same of an output of `nodes` as one unit: that of the least exact float among what they
// compute.
Tolerance ToleranceOf(absl::Span<const Node* const> nodes, DType output, bool tf32);

// What differs beyond `tolerance`, in words; empty: nothing. Types that are not read as numbers are
// compared by their bytes.
std::string Differs(const HostTensor& found, const HostTensor& expected, Tolerance tolerance);

}  // namespace onnx_cudnn

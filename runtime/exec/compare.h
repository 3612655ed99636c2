// Compares two tensors within the tolerance of their types.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

class Node;

// The elements as doubles (64-bit integers are rounded). Unimplemented: strings, complex and packed
// types, 8-bit floats.
absl::StatusOr<std::vector<double>> ElementsAsDoubles(const HostTensor& tensor);

struct Difference {
  double largest = 0;           // |found − expected|; infinite if only one of them is NaN
  double largest_expected = 0;  // |expected|, finite elements only
  int64_t beyond = 0;           // elements beyond rtol × |expected| + atol × largest_expected;
                                // equal infinities and equal NaNs do not count
  std::string type;  // set when dtype or dims differ: "expected f32[1,2], found f32[2]"; nothing
                     // else was compared then
  bool ok() const { return type.empty() && beyond == 0; }
};
// Tolerances apply to floats; other dtypes are compared exactly. Errors as for ElementsAsDoubles.
absl::StatusOr<Difference> Compare(const HostTensor& found, const HostTensor& expected, double rtol,
                                   double atol);

// How far two tensors are apart, beside Difference.
struct ErrorFigures {
  double relative = 0;  // the largest |found − expected| / |expected| of elements other than 0
  double ulps = 0;    // the most numbers of the dtype that an element is away from the expected one
  double cosine = 1;  // of the angle between them as vectors, of the elements finite in both
  int64_t not_finite = 0;  // elements that are NaN or infinite where a finite one is expected
};
// Of tensors of equal dtype and dims. An element that is NaN or infinite where the other is
// something else makes `relative` and `ulps` infinite. Errors as for ElementsAsDoubles.
absl::StatusOr<ErrorFigures> FiguresOf(const HostTensor& found, const HostTensor& expected);

// |difference| ≤ relative × |expected| + absolute × the largest |expected|. Dtypes other than
// floats are compared exactly.
struct Tolerance {
  double relative = 0, absolute = 0;
};
// The tolerance for an output of that dtype. tf32: for f32 products whose operands are rounded to
// TF32.
Tolerance ToleranceOf(DType dtype, bool tf32);
// The tolerance for an output of `nodes` run as one unit: that of the least exact float type among
// their results.
Tolerance ToleranceOf(absl::Span<const Node* const> nodes, DType output, bool tf32);

// Describes what differs beyond `tolerance`; empty if nothing does. Types that cannot be read as
// numbers are compared by their bytes.
std::string Differs(const HostTensor& found, const HostTensor& expected, Tolerance tolerance);

}  // namespace onnx_cudnn

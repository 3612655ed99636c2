#pragma once

#include <string>

#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// How far two results of one computation in another order may be apart, in shares of the largest
// magnitude of the expected tensor, or of 1 where that is less. 0 for types that do not round.
//   lowest  the type that f32 and f64 may have been computed in on the way
double ToleranceOf(DType dtype, DType lowest);

// The largest magnitude of a floating point tensor's elements, at least 1.
double Magnitude(const HostTensor& tensor);

// "" when `actual` has the type of `expected` and, within `share` of its magnitude, its elements
// (equal ones where the type does not round); else what differs.
std::string Difference(const HostTensor& expected, const HostTensor& actual, double share);

}  // namespace onnx_cudnn

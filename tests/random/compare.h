#pragma once

#include <string>

#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// The allowed difference between two results of one computation in different orders, relative to
// the largest magnitude of the expected tensor, or to 1 if that is larger. 0 for types that do not
// round.
//   lowest  the type in which f32 and f64 may have been computed in between
double ToleranceOf(DType dtype, DType lowest);

// The largest magnitude of a floating point tensor's elements, at least 1.
double Magnitude(const HostTensor& tensor);

// "" if `actual` has the type of `expected` and its elements agree within `share` of its magnitude
// (exactly if the type does not round); otherwise the difference.
std::string Difference(const HostTensor& expected, const HostTensor& actual, double share);

}  // namespace onnx_cudnn

#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Arithmetic on constant weights: f32, f16, bf16 or f64, computed in double and rounded once.

// The elements of a tensor of kFloatTypes.
std::vector<double> ToDoubles(const HostTensor& tensor);
// nullopt when a result is not finite in `dtype`.
std::optional<HostTensor> FromDoubles(DType dtype, Dims dims, absl::Span<const double> values);
// weights[k, ...] · scales[k]; nullopt when a result is not finite. No second copy in double is
// made of the weights.
std::optional<HostTensor> ScaleRows(const HostTensor& weights, absl::Span<const double> scales);

}  // namespace onnx_cudnn

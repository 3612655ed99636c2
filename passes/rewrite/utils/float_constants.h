#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Arithmetic on constant weights: f32, f16, bf16 or f64, computed in double and rounded once.

// The elements of a tensor of kNumberTypes.
std::vector<double> ToDoubles(const HostTensor& tensor);
// nullopt when a result is not finite in `dtype`.
std::optional<HostTensor> FromDoubles(DType dtype, Dims dims, absl::Span<const double> values);

// Where a weight of dims [d0, d1, …] has channels: along axis 0, or along axis 1, where each group
// of d0 / groups rows has d1 channels of its own (0 … d1, then d1 … 2·d1).
struct ChannelAxis {
  int axis = 0;
  int64_t groups = 1;  // of axis 1; divides d0
};

// Every element times the scale of its channel; nullopt when a result is not finite. No second copy
// in double is made of the weights.
//   scales  one a channel
std::optional<HostTensor> ScaleChannels(const HostTensor& weights, const ChannelAxis& channels,
                                        absl::Span<const double> scales);

}  // namespace onnx_cudnn

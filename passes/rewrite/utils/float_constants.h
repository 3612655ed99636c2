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

// Where a weight of dims [d0, d1, …] has its channels: along axis 0, or along axis 1, where each
// group of d0 / groups rows has d1 channels of its own (group 0 has 0 … d1 - 1, group 1 has d1 …
// 2·d1 - 1).
struct ChannelAxis {
  int axis = 0;
  int64_t groups = 1;  // for axis 1; divides d0
};

// Multiplies every element by the scale of its channel; nullopt if a result is not finite. Makes no
// full copy of the weights in double.
//   scales  one per channel
std::optional<HostTensor> ScaleChannels(const HostTensor& weights, const ChannelAxis& channels,
                                        absl::Span<const double> scales);

}  // namespace onnx_cudnn

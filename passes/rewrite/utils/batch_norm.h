#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// y[k] = x[k]·scale[k] + shift[k]
struct ChannelwiseAffine {
  std::vector<double> scale, shift;
};

// Why a BatchNormalization is not a fixed ChannelwiseAffine; empty if it is.
std::string_view WhyNotInference(const Node& batch_norm);

// The affine function that a BatchNormalization computes; nullopt: its statistics are not float
// tensors of [channels].
std::optional<ChannelwiseAffine> AffineOf(const Node& batch_norm, int64_t channels);

}  // namespace onnx_cudnn

#include "passes/rewrite/utils/batch_norm.h"

#include <cmath>

#include "passes/rewrite/utils/float_constants.h"

namespace onnx_cudnn {

std::string_view WhyNotInference(const Node& batch_norm) {
  if (batch_norm.attrs().Int("training_mode", 0) != 0) return "it is in training mode";
  if (batch_norm.outputs().size() > 1) return "running statistics are outputs";
  for (int i = 1; i < 5; ++i) {
    if (!batch_norm.has_input(i) || !batch_norm.input(i).is_constant()) {
      return "statistics are not constants";
    }
  }
  return "";
}

std::optional<ChannelwiseAffine> AffineOf(const Node& batch_norm, int64_t channels) {
  std::vector<double> statistics[4];  // gamma, beta, mean, variance
  for (int i = 0; i < 4; ++i) {
    const HostTensor& constant = batch_norm.input(i + 1).constant();
    if (!kFloatTypes.Has(constant.dtype()) || constant.dims() != Dims{channels}) {
      return std::nullopt;
    }
    statistics[i] = ToDoubles(constant);
  }
  const auto& [gamma, beta, mean, variance] = statistics;
  const double epsilon = batch_norm.attrs().Float("epsilon", 1e-5f);
  ChannelwiseAffine affine;
  for (int64_t k = 0; k < channels; ++k) {
    affine.scale.push_back(gamma[k] / std::sqrt(variance[k] + epsilon));
    affine.shift.push_back(beta[k] - mean[k] * affine.scale[k]);
  }
  return affine;
}

}  // namespace onnx_cudnn

#include <algorithm>

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {
namespace {

bool KeepsChannels(const Node& node) {
  const std::vector<int64_t> axes = node.attrs().Ints("axes", {0, 2, 3});
  const int64_t channels_from_end = 1 - node.input(0).rank();
  return std::none_of(axes.begin(), axes.end(),
                      [&](int64_t axis) { return axis == 1 || axis == channels_from_end; });
}

}  // namespace

// MeanVarianceNormalization over any axes, row-major; in any layout if channels are kept. One
// launch for mean and variance in f32, one that applies them.
Kernel MeanVarianceNormKernel() {
  return {.ops = {"MeanVarianceNormalization"},
          .formats =
              [](const Unit& unit, const Target& target) {
                return KeepsChannels(unit.node()) ? OneLayout(unit, target)
                                                  : RowMajorOnly(unit, target);
              },
          .speed = {.traffic = &TrafficShares::mean_variance_norm, .launches = 2}};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {
namespace {

Support TakesInference(const Unit& unit) {
  if (unit.node().attrs().Int("training_mode", 0) == 0) return Support::Yes();
  return Support::No("it is in training mode; the statistics of a batch none of our kernels makes");
}

}  // namespace

// BatchNormalization at inference that no pass folded: an earlier launch computes one scale and one
// shift per channel from the four statistics, in f32. Any layout, 16-byte accesses.
Kernel BatchNormKernel() {
  return {.ops = {"BatchNormalization"},
          .takes = TakesInference,
          .formats = OneLayout,
          .speed = {.launches = 2}};
}

}  // namespace onnx_cudnn

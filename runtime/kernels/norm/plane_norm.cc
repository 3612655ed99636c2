#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {
namespace {

// Factors that the reference refuses, with its reason, must not be read here.
Support TakesFactors(const Unit& core) {
  const Node& node = core.node();
  const int64_t channels = node.input(0).dim(1);
  for (const Value* factor : node.inputs().subspan(1)) {
    if (factor->dims() == Dims{channels}) continue;
    return Support::No(absl::StrCat(factor->name(), " is ", ToString(factor->type()),
                                    ", expected an element for each of ", channels, " channels"));
  }
  if (channels % node.attrs().Int("num_groups", 1) == 0) return Support::Yes();
  return Support::No("its channels are no multiple of its groups");
}

}  // namespace

// InstanceNormalization and GroupNormalization in any layout: mean and variance of the planes of
// one channel or group of one image, in f32. Planes that fit the registers of a block are read
// once; larger ones twice, in channels-last the second time from L2. The price assumes two reads.
Kernel PlaneNormKernel() {
  return {.ops = {"GroupNormalization", "InstanceNormalization"},
          .takes = TakesFactors,
          .formats = OneLayout,
          .speed = {.traffic = &TrafficShares::plane_norm}};
}

}  // namespace onnx_cudnn

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostPairs = int64_t{1} << 27;  // of 8 bytes in the workspace
constexpr int64_t kLeastSorted = 2048;            // pairs of a class, a power of two

Support TakesBoxes(const Unit& core) {
  const Node& node = core.node();
  if (!node.has_input(2) || !node.input(2).is_constant()) {
    return Support::No("max_output_boxes_per_class is not a constant");
  }
  const Dims scores = node.input(1).dims();
  int64_t pairs = scores[0] * scores[1] * kLeastSorted;
  for (int64_t sorted = kLeastSorted; sorted < scores[2] && pairs <= kMostPairs; sorted *= 2) {
    pairs *= 2;
  }
  if (pairs <= kMostPairs) return Support::Yes();
  return Support::No(absl::StrCat("it sorts more than ", kMostPairs, " scores"));
}

// Scores become pairs, which are sorted: first tiles, then each doubling takes one pass more than
// the one before. Boxes are selected, and joined.
int LaunchesFor(int64_t boxes) {
  int launches = 4, passes = 2;
  for (int64_t sorted = kLeastSorted; sorted < boxes; sorted *= 2) launches += passes++;
  return launches;
}

// A block selects the boxes of one class, so that few classes leave multiprocessors idle.
double SuppressionUs(const Unit& unit, const Cost& cost, const Target& target) {
  constexpr double kSortPasses = 8 * 2.0;  // of 8-byte pairs, each a read and a write
  const DeviceInfo& info = target.info;
  const Dims scores = unit.node().input(1).dims();
  const double share = info.calibration.kernels.arithmetic.non_max_suppression;
  const auto rows = static_cast<double>(std::max<int64_t>(1, scores[0] * scores[1]));
  const double idle = std::max(1.0, static_cast<double>(info.multiprocessors) / rows);
  const double arithmetic_us =
      idle * static_cast<double>(cost.flops) / (share * info.f32_flops_per_us);
  const double sort_us =
      kSortPasses * 8 * rows * static_cast<double>(scores[2]) / info.bytes_per_us;
  return arithmetic_us + sort_us +
         LaunchesFor(scores[2]) * (info.launch_us + info.dependent_kernel_us);
}

}  // namespace

// BoundedNonMaxSuppression. The scores of each class are sorted; then a block per class selects
// from them in groups, each compared with all boxes selected before and then within itself. The
// selected boxes of all classes are joined in order.
Kernel NonMaxSuppressionKernel() {
  return {.ops = {"BoundedNonMaxSuppression"},
          .types = {DType::kF32},
          .takes = TakesBoxes,
          .us = SuppressionUs};
}

}  // namespace onnx_cudnn

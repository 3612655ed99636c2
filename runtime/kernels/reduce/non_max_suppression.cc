#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostBoxes = (int64_t{1} << 31) - 1;
constexpr int kLaunches = 10;  // most of them sort

Support TakesBoxes(const Unit& core) {
  const Node& node = core.node();
  if (!node.has_input(2) || !node.input(2).is_constant()) {
    return Support::No("max_output_boxes_per_class is not a constant");
  }
  if (node.input(1).dim(2) <= kMostBoxes) return Support::Yes();
  return Support::No(absl::StrCat(node.input(1).dim(2), " boxes, at most ", kMostBoxes));
}

// A block selects the boxes of one class, so that few classes leave multiprocessors idle.
double SuppressionUs(const Unit& unit, const Cost& cost, const Target& target) {
  constexpr double kArithmetic = 0.2;      // share of the f32 rate
  constexpr double kSortPasses = 8 * 2.0;  // of 8-byte pairs, each a read and a write
  const DeviceInfo& info = target.info;
  const Dims scores = unit.node().input(1).dims();
  const auto rows = static_cast<double>(std::max<int64_t>(1, scores[0] * scores[1]));
  const double idle = std::max(1.0, static_cast<double>(info.multiprocessors) / rows);
  const double arithmetic_us =
      idle * static_cast<double>(cost.flops) / (kArithmetic * info.f32_flops_per_us);
  const double sort_us =
      kSortPasses * 8 * rows * static_cast<double>(scores[2]) / info.bytes_per_us;
  return arithmetic_us + sort_us + kLaunches * (info.launch_us + info.dependent_kernel_us);
}

}  // namespace

// BoundedNonMaxSuppression. The scores of each class are sorted; then a block per class selects
// from them in groups, each compared with all boxes selected before and then within itself. The
// selected boxes of all classes are joined in order.
Kernel NonMaxSuppressionKernel() {
  return {.name = "non_max_suppression",
          .ops = {"BoundedNonMaxSuppression"},
          .types = {DType::kF32},
          .takes = TakesBoxes,
          .formats = RowMajorOnly,
          .us = SuppressionUs};
}

}  // namespace onnx_cudnn

#include <algorithm>
#include <set>

#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

// The reduced axes are the channels, all spatial axes, or both; the output has the same rank or
// rank 2.
bool FitsChannelsLast(const Node& node) {
  const int rank = node.input(0).rank();
  if (!node.has_input(1) || !node.input(1).is_constant()) return false;
  if (node.output(0).rank() != rank && node.output(0).rank() > 2) return false;
  const absl::StatusOr<std::vector<int64_t>> axes = ToInts(node.input(1).constant());
  if (!axes.ok()) return false;
  std::set<int64_t> reduced;
  for (const int64_t axis : *axes) reduced.insert(NormalizedAxis(axis, rank));
  const bool channels = reduced.erase(1) != 0;
  const bool all_spatial = static_cast<int>(reduced.size()) == rank - 2 && !reduced.contains(0);
  return all_spatial || (channels && reduced.empty());
}

}  // namespace

// All ten Reduce ops of any number type and bool, row-major over any axes; channels-last over the
// channels, all spatial axes or both. A block sums a run in f32 (f64 for f64, integers as they are)
// in a fixed tree; a few long runs are split over blocks, and a second launch joins their sums.
Kernel ReduceKernel() {
  return {.ops = {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                  "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"},
          .types = kFixedSizeTypes,
          .formats = [](const Unit& unit, const Target& target) {
            return FitsChannelsLast(unit.node()) ? OneLayout(unit, target)
                                                 : RowMajorOnly(unit, target);
          }};
}

}  // namespace onnx_cudnn

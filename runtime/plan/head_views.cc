#include "runtime/plan/head_views.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/ops/transpose.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

constexpr int kRank = 4;
// Of every stride but that of the channels, and of where an operand begins: 16 bytes.
constexpr int64_t kStrideMultiple = 8;

}  // namespace

bool HasWholeRows(const Value& operand, absl::Span<const Node* const> nodes) {
  const std::optional<StridedView> view = ViewThrough(operand, nodes);
  if (!view.has_value() || view->strides.back() != 1) return false;
  const auto fills = [](int64_t n) { return n % kStrideMultiple == 0; };
  return fills(view->offset) && std::all_of(view->strides.begin(), view->strides.end() - 1, fills);
}

Support CheckHeadChannels(const Value& operand, int64_t multiple, int64_t most) {
  const int64_t channels = operand.dim(kRank - 1);
  if (channels % multiple == 0 && channels <= most) return Support::Yes();
  return Support::No(absl::StrCat(operand.name(), " has heads of ", channels,
                                  " channels, expected a multiple of ", multiple, " up to ", most));
}

bool KeepsChannels(const Node& node) {
  if (!node.domain().empty() || node.op() != "Transpose" || node.input(0).rank() != kRank) {
    return false;
  }
  return !node.input(0).is_constant() && TransposePerm(node, kRank).back() == kRank - 1;
}

}  // namespace onnx_cudnn

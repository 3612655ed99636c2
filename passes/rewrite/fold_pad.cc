// Folds a Pad of zeros into the pads of the Conv or AveragePool after it, and a Pad of
// minus infinity, or of zeros around values that are at least zero, into those of a MaxPool.
#include <algorithm>
#include <cmath>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/float_constants.h"

namespace onnx_cudnn {
namespace {

// Pads of the spatial axes, in the order of a window's attribute: all begins, then all ends.
using Pads = std::vector<int64_t>;

std::optional<std::vector<int64_t>> ConstantInts(const Node& node, int index) {
  if (!node.has_input(index) || !node.input(index).is_constant()) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> values = ToInts(node.input(index).constant());
  if (!values.ok()) return std::nullopt;
  return *std::move(values);
}

// nullopt: not constant, negative, or along the batch or channel axis.
std::optional<Pads> SpatialPads(const Node& pad, int rank) {
  const std::optional<std::vector<int64_t>> values = ConstantInts(pad, 1);
  if (!values.has_value() || values->size() % 2 != 0) return std::nullopt;
  const size_t count = values->size() / 2;
  std::vector<int64_t> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  if (pad.has_input(3)) {
    const std::optional<std::vector<int64_t>> given = ConstantInts(pad, 3);
    if (!given.has_value() || given->size() != count) return std::nullopt;
    axes = *given;
  }
  const int spatial = rank - 2;
  Pads pads(2 * spatial, 0);
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = (axes[i] < 0 ? axes[i] + rank : axes[i]) - 2;
    const int64_t begin = (*values)[i], end = (*values)[count + i];
    if (begin == 0 && end == 0) continue;
    if (begin < 0 || end < 0 || axis < 0 || axis >= spatial) return std::nullopt;
    pads[axis] = begin;
    pads[spatial + axis] = end;
  }
  return pads;
}

// The value that a Pad writes; nullopt: unknown.
std::optional<double> PadValue(const Node& pad) {
  if (!pad.has_input(2)) return 0;
  if (!pad.input(2).is_constant()) return std::nullopt;
  const HostTensor& value = pad.input(2).constant();
  if (!kFloatTypes.Has(value.dtype()) || value.elements() != 1) return std::nullopt;
  return ToDoubles(value)[0];
}

bool IsNeverNegative(const Value& value) {
  if (value.producer() == nullptr || !value.producer()->domain().empty()) return false;
  const std::string& op = value.producer()->op();
  return op == "Abs" || op == "Exp" || op == "Relu" || op == "Sigmoid" || op == "Softmax";
}

// Whether every window contains an element that is not padding, because every pad is narrower than
// the window.
bool WindowsReachInside(const Node& pool, const Pads& pads) {
  const std::vector<int64_t> kernel = pool.attrs().Ints("kernel_shape");
  const std::vector<int64_t> dilations = pool.attrs().Ints("dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) {
    return false;
  }
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) return false;
  }
  return true;
}

bool AllZero(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

// Why `sum`, the Pad's pads plus the Node's own, cannot be the Node's pads; empty: they can.
std::string_view WhyNotPool(const Node& pad, const Node& pool, const Pads& sum) {
  if (pool.attrs().Int("ceil_mode", 0) != 0) return "ceil_mode counts pads apart";
  if (!WindowsReachInside(pool, sum)) return "a pad is as wide as the window";
  const std::optional<double> value = PadValue(pad);
  if (pool.op() == "AveragePool") {
    if (value != 0) return "the padding is not 0";
    const bool counts = pool.attrs().Int("count_include_pad", 0) != 0;
    return counts || AllZero(pool.attrs().Ints("pads")) ? "" : "the pool does not count its pads";
  }
  if (pool.has_output(1)) return "the indices of the largest are used";
  if (value == -INFINITY || (value == 0 && IsNeverNegative(pad.input(0)))) return "";
  return "the padding may be larger than all of a window";
}

class FoldPadPass final : public OpPass {
 public:
  FoldPadPass() : OpPass("fold-pad", {"AveragePool", "Conv", "MaxPool"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    const bool is_pool = node.op() == "AveragePool" || node.op() == "MaxPool";
    const Node* pad = node.input(0).producer();
    if (pad == nullptr || pad->op() != "Pad" || !pad->domain().empty()) return Match::None();
    if (pad->attrs().String("mode", "constant") != "constant") {
      return Match::No(node, "the Pad is not of a constant");
    }
    if (node.attrs().String("auto_pad", "NOTSET") != "NOTSET") {
      return Match::No(node, "auto_pad depends on the padded extents");
    }
    const Type& type = pad->input(0).type();
    if (!type.ranked || type.dims.size() < 3) return Match::No(node, "the rank is not known");
    std::optional<Pads> sum = SpatialPads(*pad, static_cast<int>(type.dims.size()));
    if (!sum.has_value()) return Match::No(node, "the pads are not constants of spatial axes");
    const std::vector<int64_t> own = node.attrs().Ints("pads", Pads(sum->size(), 0));
    if (own.size() != sum->size()) return Match::No(node, "its pads are not of the input's rank");
    for (size_t i = 0; i < own.size(); ++i) (*sum)[i] += own[i];
    const std::string_view why_not = is_pool               ? WhyNotPool(*pad, node, *sum)
                                     : PadValue(*pad) == 0 ? ""
                                                           : "the padding is not 0";
    if (!why_not.empty()) return Match::No(node, why_not);
    graph.SetAttr(node, "pads", *std::move(sum));
    if (node.op() == "AveragePool") graph.SetAttr(node, "count_include_pad", int64_t{1});
    graph.SetInput(node, 0, &pad->input(0));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> FoldPad() { return std::make_unique<FoldPadPass>(); }

}  // namespace onnx_cudnn

#include "runtime/plan/strided_view.h"

#include <algorithm>
#include <string_view>

#include "runtime/ops/checks.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

Dims RowMajorStrides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

bool IsConstant(const Node& node, int input) {
  return !node.has_input(input) || node.input(input).is_constant();
}

StridedView Permuted(const StridedView& view, const std::vector<int64_t>& perm) {
  StridedView made{.source = view.source, .offset = view.offset};
  for (const int64_t dim : perm) {
    made.dims.push_back(view.dims[dim]);
    made.strides.push_back(view.strides[dim]);
  }
  return made;
}

StridedView From(StridedView view, const Dims& begin, const Dims& dims) {
  for (size_t d = 0; d < dims.size(); ++d) view.offset += begin[d] * view.strides[d];
  view.dims = dims;
  return view;
}

// Where output `output` of a Split begins.
Dims BeginOfPart(const Node& split, int output) {
  Dims begin(split.input(0).rank(), 0);
  const int64_t axis = NormalizedAxis(split.attrs().Int("axis", 0), split.input(0).rank());
  for (int i = 0; i < output; ++i) begin[axis] += split.output(i).dim(static_cast<int>(axis));
  return begin;
}

// A Gather of one index drops its axis, or keeps it if the index is a vector.
std::optional<StridedView> Gathered(StridedView view, const Node& gather) {
  const int64_t axis = NormalizedAxis(gather.attrs().Int("axis", 0), gather.input(0).rank());
  const std::vector<int64_t> index = IntsAt(gather, 1);
  const int64_t extent = view.dims[axis];
  if (index.size() != 1 || index[0] < -extent || index[0] >= extent) return std::nullopt;
  view.offset += (index[0] < 0 ? index[0] + extent : index[0]) * view.strides[axis];
  view.dims[axis] = 1;
  if (gather.input(1).rank() == 1) return view;
  view.dims.erase(view.dims.begin() + axis);
  view.strides.erase(view.strides.begin() + axis);
  return view;
}

// What output `output` of `node` is of its input 0, which is `view`.
std::optional<StridedView> Through(const StridedView& view, const Node& node, int output) {
  const Value& y = node.output(output);
  if (node.op() == "Transpose") return Permuted(view, TransposePerm(node, node.input(0).rank()));
  if (node.op() == "Split") return From(view, BeginOfPart(node, output), y.dims());
  if (node.op() == "Gather") return Gathered(view, node);
  if (node.op() == "Slice") {
    const std::optional<Dims> begin = BeginOfSlice(node);
    return begin.has_value() ? std::optional(From(view, *begin, y.dims())) : std::nullopt;
  }
  const std::optional<Dims> strides = ReshapedStrides(view.dims, view.strides, y.dims());
  if (!strides.has_value()) return std::nullopt;
  return StridedView{view.source, y.dims(), *strides, view.offset};
}

bool AreStatic(absl::Span<Value* const> values) {
  return std::all_of(values.begin(), values.end(), [](const Value* v) {
    return v == nullptr || (v->is_static() && v->elements() > 0);
  });
}

}  // namespace

bool IsViewNode(const Node& node) {
  constexpr std::string_view kOps[] = {"Gather",  "Reshape",   "Slice",    "Split",
                                       "Squeeze", "Transpose", "Unsqueeze"};
  const bool is_one = std::find(std::begin(kOps), std::end(kOps), node.op()) != std::end(kOps);
  if (!is_one || !node.domain().empty()) return false;
  if (!AreStatic(node.inputs()) || !AreStatic(node.outputs())) return false;
  if (node.input(0).is_constant()) return false;
  if (node.op() == "Gather") {
    const Value& index = node.input(1);
    return index.is_constant() && index.rank() <= 1 && index.elements() == 1;
  }
  if (node.op() != "Slice") return true;
  for (const int input : {1, 2, 3, 4}) {
    if (!IsConstant(node, input)) return false;
  }
  const std::vector<int64_t> steps = IntsAt(node, 4);
  return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
}

std::optional<StridedView> ViewThrough(const Value& value, absl::Span<const Node* const> nodes) {
  const Node* node = value.producer();
  const bool is_inside = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  if (node == nullptr || !is_inside) {
    return StridedView{&value, value.dims(), RowMajorStrides(value.dims()), 0};
  }
  if (!IsViewNode(*node)) return std::nullopt;
  const std::optional<StridedView> before = ViewThrough(node->input(0), nodes);
  return before.has_value() ? Through(*before, *node, value.producer_index()) : std::nullopt;
}

std::optional<Dims> ReshapedStrides(const Dims& dims, const Dims& strides, const Dims& to) {
  Dims made(to.size(), 1);
  size_t next = to.size();
  int64_t run = 1, taken = 1;  // elements of dims that lie as one, and of `to` within
  int64_t stride = strides.empty() ? 1 : strides.back();
  for (size_t d = dims.size(); d-- > 0;) {
    run *= dims[d];
    const bool goes_on = d > 0 && (dims[d - 1] == 1 || strides[d - 1] == run * stride);
    if (goes_on) continue;
    while (next > 0 && (taken < run || to[next - 1] == 1)) {
      --next;
      made[next] = taken * stride;
      taken *= to[next];
    }
    if (taken != run) return std::nullopt;
    run = taken = 1;
    if (d > 0) stride = strides[d - 1];
  }
  return made;
}

std::vector<int64_t> IntsAt(const Node& node, int input) {
  if (!node.has_input(input)) return {};
  return ToInts(node.input(input).constant()).value_or(std::vector<int64_t>());
}

std::optional<Dims> BeginOfSlice(const Node& slice) {
  const Value& in = slice.input(0);
  const std::vector<int64_t> starts = IntsAt(slice, 1), axes = IntsAt(slice, 3);
  if (slice.has_input(3) && axes.size() != starts.size()) return std::nullopt;
  Dims begin(in.rank(), 0);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        slice.has_input(3) ? NormalizedAxis(axes[i], in.rank()) : static_cast<int64_t>(i);
    if (axis < 0 || axis >= in.rank()) return std::nullopt;
    const int64_t extent = in.dim(static_cast<int>(axis));
    const int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    begin[axis] = std::clamp<int64_t>(start, 0, extent);
  }
  for (int d = 0; d < in.rank(); ++d) {
    if (begin[d] + slice.output(0).dim(d) > in.dim(d)) return std::nullopt;
  }
  return begin;
}

}  // namespace onnx_cudnn

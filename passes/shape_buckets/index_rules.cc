// Moves along padded axes.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Operands of a Concat along its axis.
struct JoinedParts {
  std::vector<Affine> extents;
  Dims dims;
  int64_t dim = 0;  // of all
};

// Where padding is, if there is any: behind the elements of the first part that has some.
Value& PaddingIndex(Padder& padder, const JoinedParts& parts) {
  Value* index = nullptr;
  int64_t end = parts.dim;
  for (size_t i = parts.dims.size(); i-- > 0;) {
    if (!parts.extents[i].is_constant()) {
      Value& last = padder.Scalar(end - 1);
      if (index == nullptr) {
        index = &last;
      } else {
        Value& has_any =
            padder.Emit("Less", {&padder.Scalar(parts.extents[i]), &padder.Scalar(parts.dims[i])});
        index = &padder.Emit("Where", {&has_any, &last, index});
      }
    }
    end -= parts.dims[i];
  }
  return *index;
}

// For each index behind the elements of all parts, the index in the parts as they are.
Value& JoinedIndices(Padder& padder, const JoinedParts& parts) {
  const std::string key = absl::StrJoin(
      parts.extents, " ", [&](std::string* out, const Affine& a) { out->append(padder.Text(a)); });
  const std::string name = absl::StrCat("joined ", key, " ", absl::StrJoin(parts.dims, " "));
  return padder.Once(name, [&]() -> Value& {
    HostTensor numbers = HostTensor::Allocate(DType::kI64, {parts.dim});
    for (int64_t i = 0; i < parts.dim; ++i) numbers.mutable_data<int64_t>()[i] = i;
    Value& own = padder.graph().AddConstant(std::move(numbers), "indices");
    Value* indices = &PaddingIndex(padder, parts);
    Affine begin, end;
    for (const Affine& extent : parts.extents) end = end + extent;
    int64_t dims = parts.dim;
    for (size_t i = parts.dims.size(); i-- > 0;) {
      begin = end - parts.extents[i];
      dims -= parts.dims[i];
      Value& moved = padder.Emit("Add", {&own, &padder.Scalar(Affine(dims) - begin)});
      Value& is_in = padder.Emit("Less", {&own, &padder.Scalar(end)});
      indices = &padder.Emit("Where", {&is_in, &moved, indices});
      end = begin;
    }
    return *indices;
  });
}

absl::StatusOr<PaddedAxes> JoinedAxes(Padder& padder, const Node& node, int64_t axis,
                                      JoinedParts& parts) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  for (PaddedAxis& joined : axes) joined.zeros = true;
  for (const Value* v : node.inputs()) {
    const PaddedAxes part = padder.AxesOf(*v);
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].zeros &= part[i].zeros || part[i].extent.is_constant();
      if (static_cast<int64_t>(i) == axis) continue;
      RETURN_IF_ERROR(padder.RequireEqual(axes[i].extent, part[i].extent));
    }
    parts.extents.push_back(part[axis].extent);
    parts.dims.push_back(v->dim(static_cast<int>(axis)));
    parts.dim += parts.dims.back();
  }
  return axes;
}

// The bound of a slice as an index from the front, for an axis of `extent`.
absl::StatusOr<Affine> BoundOf(Padder& padder, const Affine& given, const Affine& extent) {
  const std::vector<int64_t>& most = padder.lengths().most;
  if (given.is_constant()) {
    const int64_t number = given.constant();
    if (number >= 0 && extent.Most(most) <= number) return extent;
    if (number < 0 && number < std::numeric_limits<int32_t>::min()) return Affine(0);
    const Affine bound = number < 0 ? extent + number : given;
    if (bound.is_constant() && bound.constant() < 0) return Affine(0);
    padder.RequireNotNegative(bound);
    padder.RequireNotNegative(extent - bound);
    return bound;
  }
  if (given.Most(most) < 0) return BoundOf(padder, extent + given, extent);
  padder.RequireNotNegative(given);
  padder.RequireNotNegative(extent - given);
  return given;
}

// Elements from `start` on, `count` of them.
absl::StatusOr<Value*> SliceAxis(Padder& padder, Value& x, int axis, const Affine& given_start,
                                 const Affine& given_end) {
  PaddedAxes axes = padder.AxesOf(x);
  const Affine extent = axes[axis].extent;
  ASSIGN_OR_RETURN(const Affine start, BoundOf(padder, given_start, extent));
  ASSIGN_OR_RETURN(const Affine end, BoundOf(padder, given_end, extent));
  const Affine count = end - start;
  if (!count.is_constant()) padder.RequireNotNegative(count);
  const int64_t dim = std::max<int64_t>(count.At(padder.lengths().most), 0);
  axes[axis].extent = count.is_constant() ? Affine(dim) : count;
  axes[axis].zeros &= end == extent && start.is_constant();
  Value* sliced = nullptr;
  if (start.is_constant() && start.constant() + dim <= x.dim(axis)) {
    sliced = &padder.Emit("Slice", {&x, &padder.Ints({start.constant()}),
                                    &padder.Ints({start.constant() + dim}), &padder.Ints({axis})});
  } else {  // indices behind the last element read that one
    HostTensor numbers = HostTensor::Allocate(DType::kI64, {dim});
    for (int64_t i = 0; i < dim; ++i) numbers.mutable_data<int64_t>()[i] = i;
    Value& moved = padder.Emit(
        "Add", {&padder.graph().AddConstant(std::move(numbers), "indices"), &padder.Scalar(start)});
    Value& indices = padder.Emit("Min", {&moved, &padder.Scalar(x.dim(axis) - 1)});
    sliced = &padder.Emit("Gather", {&x, &indices}, {{"axis", static_cast<int64_t>(axis)}});
  }
  RETURN_IF_ERROR(padder.status());
  RETURN_IF_ERROR(padder.SetAxes(*sliced, std::move(axes)));
  return sliced;
}

// Every `step`-th element along an axis without padding.
absl::StatusOr<Value*> SliceInSteps(Padder& padder, Value& x, int axis,
                                    const std::array<Affine, 3>& bounds_and_step) {
  PaddedAxes axes = padder.AxesOf(x);
  std::vector<Value*> operands = {&x};
  for (const Affine& operand : bounds_and_step) {
    if (!operand.is_constant()) return absl::UnimplementedError("its step is not 1");
    operands.push_back(&padder.Ints({operand.constant()}));
  }
  if (!axes[axis].extent.is_constant()) return absl::UnimplementedError("its step is not 1");
  operands.insert(operands.begin() + 3, &padder.Ints({axis}));
  Value& sliced = padder.Emit("Slice", std::move(operands));
  RETURN_IF_ERROR(padder.status());
  axes[axis].extent = sliced.dim(axis);
  RETURN_IF_ERROR(padder.SetAxes(sliced, std::move(axes)));
  return &sliced;
}

bool AreNotNegative(const Padder& padder, const Value& indices) {
  const auto elements = padder.ElementsOf(indices);
  return elements.has_value() &&
         std::all_of(elements->begin(), elements->end(),
                     [&](const Affine& a) { return a.Least(padder.lengths().most) >= 0; });
}

void FillIndices(Padder& padder, Node& node) {
  for (int axis = 0; axis < node.input(1).rank(); ++axis) {
    padder.Fill(node, 1, axis, Filler::kZero);
  }
}

}  // namespace

void CountFromFront(Padder& padder, Node& node, Value& extents) {
  Value& indices = node.input(1);
  const PaddedAxes axes = padder.AxesOf(indices);
  const Attrs to = {{"to", static_cast<int64_t>(indices.dtype())}};
  Value& zero = padder.Emit("Cast", {&padder.Scalar(int64_t{0})}, to);
  Value& is_negative = padder.Emit("Less", {&indices, &zero});
  Value& counted = padder.Emit("Add", {&indices, &padder.Emit("Cast", {&extents}, to)});
  Value& all = padder.Emit("Where", {&is_negative, &counted, &indices});
  if (padder.status().ok() && padder.IsPadded(indices)) (void)padder.SetAxes(all, axes);
  padder.graph().SetInput(node, 1, &all);
}

void CountTuplesFromFront(Padder& padder, Node& node, int64_t indexed) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  std::vector<Value*> extents;
  bool counts = false;
  for (int64_t i = 0; i < indexed; ++i) {
    counts |= !axes[i].extent.is_constant();
    extents.push_back(&padder.Emit("Reshape", {&padder.Scalar(axes[i].extent), &padder.Ints({1})}));
  }
  if (counts) CountFromFront(padder, node, padder.Emit("Concat", extents, {{"axis", int64_t{0}}}));
}

// Parts with padding before other parts are joined as they are; then the elements move together.
absl::Status PadConcat(Padder& padder, Node& node) {
  const int64_t axis = CountedAxis(node, "axis", 0, node.input(0).rank());
  JoinedParts parts;
  ASSIGN_OR_RETURN(PaddedAxes axes, JoinedAxes(padder, node, axis, parts));
  axes[axis].extent = 0;
  bool is_in_front = false, moves = false;
  for (const Affine& extent : parts.extents) {
    axes[axis].extent = axes[axis].extent + extent;
    moves |= is_in_front;
    is_in_front |= !extent.is_constant();
  }
  if (!moves) return Finish(padder, node, std::move(axes));
  const Attrs along = {{"axis", axis}};
  Value& joined = padder.Emit("Concat", {node.inputs().begin(), node.inputs().end()}, along);
  Value& moved = padder.Emit("Gather", {&joined, &JoinedIndices(padder, parts)}, along);
  padder.graph().ReplaceAllUses(node.output(0), moved);
  RETURN_IF_ERROR(padder.status());
  return padder.SetAxes(moved, std::move(axes));
}

absl::Status PadSlice(Padder& padder, Node& node) {
  std::vector<std::vector<Affine>> operands;
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    std::optional<std::vector<Affine>> elements;
    if (node.has_input(i)) elements = padder.ElementsOf(node.input(i));
    if (!elements.has_value()) {
      return absl::UnimplementedError("its operands do not follow linearly from the lengths");
    }
    operands.push_back(*std::move(elements));
  }
  Value* x = &node.input(0);
  for (size_t i = 0; i < operands[0].size(); ++i) {
    int64_t axis = operands.size() > 2 ? operands[2][i].constant() : static_cast<int64_t>(i);
    if (axis < 0) axis += x->rank();
    const Affine step = operands.size() > 3 ? operands[3][i] : Affine(1);
    const Affine &start = operands[0][i], &end = operands[1][i];
    const int at = static_cast<int>(axis);
    ASSIGN_OR_RETURN(x, step == Affine(1) ? SliceAxis(padder, *x, at, start, end)
                                          : SliceInSteps(padder, *x, at, {start, end, step}));
  }
  padder.graph().ReplaceAllUses(node.output(0), *x);
  return absl::OkStatus();
}

absl::Status PadGather(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const int64_t axis = CountedAxis(node, "axis", 0, static_cast<int64_t>(axes.size()));
  const Affine extent = axes[axis].extent;
  if (node.input(0).dim(static_cast<int>(axis)) == 0) {  // padding of indices is 0
    return absl::UnimplementedError("its axis is empty");
  }
  const bool counts = !extent.is_constant() && !AreNotNegative(padder, node.input(1));
  padder.ComputeOperand(node, 1);
  if (counts) CountFromFront(padder, node, padder.Scalar(extent));
  FillIndices(padder, node);
  PaddedAxes gathered(axes.begin(), axes.begin() + axis);
  for (const PaddedAxis& index : padder.AxesOf(node.input(1))) {
    gathered.push_back({.extent = index.extent});
  }
  gathered.insert(gathered.end(), axes.begin() + axis + 1, axes.end());
  return Finish(padder, node, std::move(gathered));
}

absl::Status PadGatherND(Padder& padder, Node& node) {
  if (node.attrs().Int("batch_dims", 0) != 0) {
    return absl::UnimplementedError("it has batch_dims");
  }
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  PaddedAxes gathered = padder.AxesOf(node.input(1));
  if (gathered.empty() || !gathered.back().extent.is_constant()) {
    return absl::UnimplementedError("its indices are padded");
  }
  const int64_t indexed = gathered.back().extent.constant();
  for (int64_t i = 0; i < indexed; ++i) {
    if (node.input(0).dim(static_cast<int>(i)) == 0) {
      return absl::UnimplementedError("an axis is empty");
    }
  }
  CountTuplesFromFront(padder, node, indexed);
  FillIndices(padder, node);
  gathered.pop_back();
  for (PaddedAxis& axis : gathered) axis.zeros = false;
  gathered.insert(gathered.end(), axes.begin() + indexed, axes.end());
  return Finish(padder, node, std::move(gathered));
}

// Each index reads at its own place along all other axes.
absl::Status PadGatherElements(Padder& padder, Node& node) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  PaddedAxes gathered = padder.AxesOf(node.input(1));
  const int64_t axis = CountedAxis(node, "axis", 0, static_cast<int64_t>(axes.size()));
  if (node.input(0).dim(static_cast<int>(axis)) == 0) {  // padding of indices is 0
    return absl::UnimplementedError("its axis is empty");
  }
  for (int i = 0; i < static_cast<int>(axes.size()); ++i) {
    if (i == axis) continue;
    if (node.input(1).dim(i) > node.input(0).dim(i)) {
      return absl::UnimplementedError(absl::StrCat("its indices are longer than axis ", i));
    }
    padder.RequireNotNegative(axes[i].extent - gathered[i].extent);
  }
  if (!axes[axis].extent.is_constant()) {
    CountFromFront(padder, node, padder.Scalar(axes[axis].extent));
  }
  FillIndices(padder, node);
  for (PaddedAxis& each : gathered) each.zeros = false;
  return Finish(padder, node, std::move(gathered));
}

}  // namespace onnx_cudnn

// Moves that keep the order of elements along padded axes.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// The numbers of an operand that may not depend on lengths.
absl::StatusOr<std::vector<int64_t>> Numbers(const Padder& padder, const Node& node, int input) {
  const auto elements = padder.ElementsOf(node.input(input));
  if (!elements.has_value() || padder.DependsOnLengths(node.input(input))) {
    return absl::UnimplementedError(absl::StrCat("input ", input, " is not constant"));
  }
  std::vector<int64_t> numbers;
  for (const Affine& a : *elements) numbers.push_back(a.constant());
  return numbers;
}

absl::StatusOr<std::set<int64_t>> CountedAxes(const Padder& padder, const Node& node, int input,
                                              size_t rank) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Numbers(padder, node, input));
  std::set<int64_t> axes;
  for (const int64_t axis : numbers) {
    axes.insert(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  }
  return axes;
}

}  // namespace

absl::Status PadTranspose(Padder& padder, Node& node) {
  const PaddedAxes from = padder.AxesOf(node.input(0));
  std::vector<int64_t> perm = node.attrs().Ints("perm");
  for (size_t i = from.size(); perm.size() < from.size();) {
    perm.push_back(static_cast<int64_t>(--i));
  }
  PaddedAxes axes;
  for (const int64_t axis : perm) axes.push_back(from[axis]);
  return Finish(padder, node, std::move(axes));
}

absl::Status PadUnsqueeze(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const size_t rank = axes.size() + node.input(1).elements();
  ASSIGN_OR_RETURN(const std::set<int64_t> added, CountedAxes(padder, node, 1, rank));
  for (const int64_t axis : added) {
    if (axis > static_cast<int64_t>(axes.size())) break;  // inference refuses it
    axes.insert(axes.begin() + axis, {.extent = 1});
  }
  return Finish(padder, node, std::move(axes));
}

absl::Status PadSqueeze(Padder& padder, Node& node) {
  if (!node.has_input(1)) return absl::UnimplementedError("its axes are not given");
  const PaddedAxes from = padder.AxesOf(node.input(0));
  ASSIGN_OR_RETURN(const std::set<int64_t> removed, CountedAxes(padder, node, 1, from.size()));
  PaddedAxes axes;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!removed.contains(static_cast<int64_t>(i))) axes.push_back(from[i]);
  }
  return Finish(padder, node, std::move(axes));
}

absl::Status PadExpand(Padder& padder, Node& node) {
  ASSIGN_OR_RETURN(const std::vector<Affine> shape, padder.FixOperand(node, 1));
  PaddedAxes wanted;
  for (const Affine& extent : shape) wanted.push_back({.extent = extent});
  ASSIGN_OR_RETURN(PaddedAxes axes,
                   BroadcastAxes(padder, {padder.AxesOf(node.input(0)), std::move(wanted)}));
  return Finish(padder, node, std::move(axes));
}

absl::Status PadTile(Padder& padder, Node& node) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Numbers(padder, node, 1));
  PaddedAxes axes = padder.AxesOf(node.input(0));
  for (size_t i = 0; i < axes.size() && i < repeats.size(); ++i) {
    if (!axes[i].extent.is_constant() && repeats[i] != 1) {
      return absl::UnimplementedError(absl::StrCat("it repeats axis ", i));
    }
    axes[i].extent = axes[i].extent.Times(repeats[i]);
  }
  return Finish(padder, node, std::move(axes));
}

absl::Status PadSplit(Padder& padder, Node& node) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  const int64_t axis = CountedAxis(node, "axis", 0, static_cast<int64_t>(axes.size()));
  if (!axes[axis].extent.is_constant()) {
    return absl::UnimplementedError(absl::StrCat("it splits axis ", axis));
  }
  RETURN_IF_ERROR(padder.Infer(node));
  for (const Value* part : node.outputs()) {
    if (part == nullptr) continue;
    PaddedAxes of_part = axes;
    of_part[axis].extent = part->dim(static_cast<int>(axis));
    RETURN_IF_ERROR(padder.SetAxes(*part, std::move(of_part)));
  }
  return absl::OkStatus();
}

// What it keeps depends on the indices alone.
absl::Status PadTrilu(Padder& padder, Node& node) {
  return Finish(padder, node, padder.AxesOf(node.input(0)));
}

absl::Status PadConstantOfShape(Padder& padder, Node& node) {
  ASSIGN_OR_RETURN(const std::vector<Affine> shape, padder.FixOperand(node, 0));
  PaddedAxes axes;
  for (const Affine& extent : shape) {
    padder.RequireNotNegative(extent);
    axes.push_back({.extent = extent});
  }
  return Finish(padder, node, std::move(axes));
}

// start + Range(0, limit - start)
absl::Status PadRange(Padder& padder, Node& node) {
  std::vector<Affine> operands;
  for (int i = 0; i < 3; ++i) {
    const auto elements = padder.ElementsOf(node.input(i));
    if (!elements.has_value() || elements->size() != 1) {
      return absl::UnimplementedError("its operands do not follow linearly from the lengths");
    }
    operands.push_back((*elements)[0]);
  }
  if (operands[2] != Affine(1)) return absl::UnimplementedError("its delta is not 1");
  const Affine extent = operands[1] - operands[0];
  padder.RequireNotNegative(extent);
  HostTensor indices = HostTensor::Allocate(DType::kI64, {extent.At(padder.lengths().most)});
  for (int64_t i = 0; i < indices.elements(); ++i) indices.mutable_data<int64_t>()[i] = i;
  Value* range = &padder.graph().AddConstant(std::move(indices), "indices");
  if (node.input(0).dtype() != DType::kI64) {
    range = &padder.Emit("Cast", {range}, {{"to", static_cast<int64_t>(node.input(0).dtype())}});
  }
  Value& numbers = padder.Emit("Add", {range, &padder.Computed(node.input(0))});
  padder.graph().ReplaceAllUses(node.output(0), numbers);
  RETURN_IF_ERROR(padder.status());
  return padder.SetAxes(numbers, {{.extent = extent}});
}

}  // namespace onnx_cudnn

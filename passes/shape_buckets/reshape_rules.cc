// Reshape and Flatten: where padded axes go.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// An axis after the reshape: its dim at capacity and its extent, where the operand gives it.
struct NewAxis {
  int64_t dim;
  std::optional<Affine> extent;
};

// Axes in front and after that have as many elements as each other, and no fewer ones have.
struct AxisGroup {
  PaddedAxes from;
  Dims from_dims;
  std::vector<NewAxis> to;
};

std::vector<AxisGroup> GroupsOf(const PaddedAxes& from, const Dims& dims,
                                const std::vector<NewAxis>& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    AxisGroup& group = groups.emplace_back();
    int64_t before = 1, after = 1;
    do {
      const bool takes_from = i < from.size() && (before <= after || j == to.size());
      if (takes_from) {
        group.from.push_back(from[i]);
        group.from_dims.push_back(dims[i]);
        before *= dims[i++];
      } else {
        group.to.push_back(to[j]);
        after *= to[j++].dim;
      }
    } while (before != after && (i < from.size() || j < to.size()));
  }
  return groups;
}

absl::Status Keep(Padder& padder, const NewAxis& axis, const Affine& extent, PaddedAxes& axes) {
  if (axis.extent.has_value()) RETURN_IF_ERROR(padder.RequireEqual(*axis.extent, extent));
  axes.push_back({.extent = extent});
  return absl::OkStatus();
}

// The padded axis of `group`; -1: none. It must be the outermost one: otherwise its padding lies
// between elements of the axis that it becomes a part of.
absl::StatusOr<int> PaddedAxisOf(const AxisGroup& group) {
  int padded = -1;
  for (size_t i = 0; i < group.from.size(); ++i) {
    if (group.from[i].extent.is_constant()) continue;
    const bool is_first = std::all_of(group.from_dims.begin(), group.from_dims.begin() + i,
                                      [](int64_t dim) { return dim == 1; });
    if (padded >= 0 || !is_first) {
      return absl::UnimplementedError("it merges a padded axis into the one in front of it");
    }
    padded = static_cast<int>(i);
  }
  return padded;
}

absl::Status MapGroup(Padder& padder, const AxisGroup& group, PaddedAxes& axes) {
  ASSIGN_OR_RETURN(const int padded, PaddedAxisOf(group));
  if (padded < 0) {
    for (const NewAxis& axis : group.to) RETURN_IF_ERROR(Keep(padder, axis, axis.dim, axes));
    return absl::OkStatus();
  }
  Affine elements = group.from[padded].extent;
  for (size_t i = padded + 1; i < group.from.size(); ++i) {
    elements = elements.Times(group.from_dims[i]);
  }
  bool found = false;
  for (size_t i = 0; i < group.to.size(); ++i) {
    if (found || group.to[i].dim == 1) {
      RETURN_IF_ERROR(Keep(padder, group.to[i], group.to[i].dim, axes));
      continue;
    }
    found = true;
    int64_t inner = 1;
    for (size_t j = i + 1; j < group.to.size(); ++j) inner *= group.to[j].dim;
    const std::optional<Affine> extent = elements.DividedBy(inner);
    if (!extent.has_value()) {
      return absl::UnimplementedError(absl::StrCat("it splits a padded axis of ",
                                                   padder.Text(elements), " elements by ", inner));
    }
    RETURN_IF_ERROR(Keep(padder, group.to[i], *extent, axes));
    axes.back().zeros = group.from[padded].zeros;
  }
  return absl::OkStatus();
}

absl::Status MapReshape(Padder& padder, Node& node, const std::vector<NewAxis>& to) {
  const Value& x = node.input(0);
  if (x.elements() == 0) return absl::UnimplementedError("its input is empty");
  PaddedAxes axes;
  for (const AxisGroup& group : GroupsOf(padder.AxesOf(x), x.dims(), to)) {
    RETURN_IF_ERROR(MapGroup(padder, group, axes));
  }
  return padder.SetAxes(node.output(0), std::move(axes));
}

}  // namespace

absl::Status PadReshape(Padder& padder, Node& node) {
  ASSIGN_OR_RETURN(const std::vector<Affine> shape, padder.FixOperand(node, 1));
  RETURN_IF_ERROR(padder.Infer(node));
  const PaddedAxes from = padder.AxesOf(node.input(0));
  const bool copies = node.attrs().Int("allowzero", 0) == 0;
  std::vector<NewAxis> to;
  for (size_t i = 0; i < shape.size(); ++i) {
    NewAxis axis{.dim = node.output(0).dim(static_cast<int>(i)), .extent = shape[i]};
    if (shape[i] == Affine(-1)) axis.extent.reset();
    if (shape[i] == Affine(0) && copies) axis.extent = from[i].extent;
    to.push_back(std::move(axis));
  }
  return MapReshape(padder, node, to);
}

absl::Status PadFlatten(Padder& padder, Node& node) {
  RETURN_IF_ERROR(padder.Infer(node));
  std::vector<NewAxis> to;
  for (const int64_t dim : node.output(0).dims()) to.push_back({.dim = dim, .extent = {}});
  return MapReshape(padder, node, to);
}

}  // namespace onnx_cudnn

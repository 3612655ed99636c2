#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// The axis of the first `indexed` ones of `data` whose padding takes what padding of `index`
// writes: there is some whenever the index has some.
absl::StatusOr<int> AxisLike(const PaddedAxis& index, int64_t dim, const Value& data,
                             const PaddedAxes& axes, int64_t indexed) {
  for (int i = 0; i < indexed; ++i) {
    if (axes[i].extent == index.extent && data.dim(i) == dim) return i;
  }
  return absl::UnimplementedError("its indices are padded, and its data is not like them");
}

// Index tuples that are padding lead to padding of the data.
absl::Status SendPaddingToPadding(Padder& padder, Node& node, int64_t indexed) {
  const Value& data = node.input(0);
  const PaddedAxes axes = padder.AxesOf(data), index_axes = padder.AxesOf(node.input(1));
  for (size_t i = 0; i + 1 < index_axes.size(); ++i) {
    const PaddedAxis& index = index_axes[i];
    if (index.extent.is_constant()) continue;
    Value& indices = node.input(1);
    const int64_t dim = indices.dim(static_cast<int>(i));
    ASSIGN_OR_RETURN(const int axis, AxisLike(index, dim, data, axes, indexed));
    std::vector<int64_t> last(indexed, 0);
    last[axis] = dim - 1;
    Value& mask = padder.Mask(index.extent, dim, static_cast<int>(index_axes.size() - 1 - i));
    Value& sent = padder.Emit("Where", {&mask, &indices, &padder.Ints(last)});
    RETURN_IF_ERROR(padder.status());
    RETURN_IF_ERROR(padder.SetAxes(sent, index_axes));
    padder.graph().SetInput(node, 1, &sent);
  }
  return absl::OkStatus();
}

// Writes elements of which some are padding along `axis`, whose extent is `written`, into a cache
// with room for all of them, and takes back what padding has overwritten.
absl::Status ScatterPadded(Padder& padder, Node& node, int axis, const Affine& written,
                           PaddedAxes axes) {
  Value &cache = node.input(0), &update = node.input(1);
  const int64_t dim = cache.dim(axis);
  std::vector<int64_t> by_batch(cache.rank(), 1), along(cache.rank(), 1);
  by_batch[0] = -1;
  along[axis] = -1;
  Value& at = node.has_input(2)
                  ? node.input(2)
                  : padder.Emit("Expand", {&padder.Ints({0}), &padder.Ints({cache.dim(0)})});
  Value& room = padder.Ints({0, update.dim(axis)});
  Value& grown = padder.Emit("Pad", {&cache, &room, nullptr, &padder.Ints({axis})});
  Value& all = padder.Emit("TensorScatter", {&grown, &update, &at}, {{"axis", int64_t{axis}}});
  Value& scattered =
      padder.Emit("Slice", {&all, &padder.Ints({0}), &padder.Ints({dim}), &padder.Ints({axis})});
  HostTensor numbers = HostTensor::Allocate(DType::kI64, {dim});
  for (int64_t i = 0; i < dim; ++i) numbers.mutable_data<int64_t>()[i] = i;
  Value& indices = padder.graph().AddConstant(std::move(numbers), "indices");
  Value& end = padder.Emit("Add", {&at, &padder.Scalar(written)});
  Value& is_before_end =
      padder.Emit("Less", {&padder.Emit("Reshape", {&indices, &padder.Ints(along)}),
                           &padder.Emit("Reshape", {&end, &padder.Ints(by_batch)})});
  Value& result = padder.Emit("Where", {&is_before_end, &scattered, &cache});
  RETURN_IF_ERROR(padder.status());
  padder.graph().ReplaceAllUses(node.output(0), result);
  return padder.SetAxes(result, std::move(axes));
}

// Along `axis`, which it does not scatter along, padding of indices is at padding of the data.
absl::Status RequireInside(Padder& padder, const Node& node, int axis) {
  const Affine data = padder.AxesOf(node.input(0))[axis].extent;
  const Affine written = padder.AxesOf(node.input(1))[axis].extent;
  if (!written.is_constant()) return padder.RequireEqual(data, written);
  if (node.input(1).dim(axis) > node.input(0).dim(axis)) {
    return absl::UnimplementedError(absl::StrCat("its indices are longer than axis ", axis));
  }
  padder.RequireNotNegative(data - written);
  return absl::OkStatus();
}

}  // namespace

absl::Status PadScatterND(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const PaddedAxes updates = padder.AxesOf(node.input(2));
  PaddedAxes written = padder.AxesOf(node.input(1));
  if (written.empty() || !written.back().extent.is_constant()) {
    return absl::UnimplementedError("its indices are padded");
  }
  const int64_t indexed = written.back().extent.constant();
  CountTuplesFromFront(padder, node, indexed);
  RETURN_IF_ERROR(SendPaddingToPadding(padder, node, indexed));
  written.pop_back();
  written.insert(written.end(), axes.begin() + indexed, axes.end());
  for (size_t i = 0; i < written.size(); ++i) {
    RETURN_IF_ERROR(padder.RequireEqual(written[i].extent, updates[i].extent));
  }
  for (PaddedAxis& axis : axes) axis.zeros = false;
  return Finish(padder, node, std::move(axes));
}

// Padding of indices leads to padding of the data: along the op's axis to an element behind it,
// which is cut off again, along another one to its own place.
absl::Status PadScatterElements(Padder& padder, Node& node) {
  Value& data = node.input(0);
  PaddedAxes axes = padder.AxesOf(data);
  const PaddedAxes written = padder.AxesOf(node.input(1)), updates = padder.AxesOf(node.input(2));
  const int rank = data.rank();
  const int axis = static_cast<int>(CountedAxis(node, "axis", 0, rank));
  for (int i = 0; i < rank; ++i) {
    RETURN_IF_ERROR(padder.RequireEqual(written[i].extent, updates[i].extent));
    if (i != axis) RETURN_IF_ERROR(RequireInside(padder, node, i));
    axes[i].zeros = false;
  }
  const bool is_padded = !written[axis].extent.is_constant();
  if (is_padded || !axes[axis].extent.is_constant()) {
    CountFromFront(padder, node, padder.Scalar(axes[axis].extent));
  }
  for (int i = 0; i < rank; ++i) {
    if (i != axis) padder.Fill(node, 1, i, Filler::kZero);
  }
  if (!is_padded) return Finish(padder, node, std::move(axes));
  Value& indices = node.input(1);
  const int64_t dim = data.dim(axis);
  Value& mask = padder.Mask(written[axis].extent, indices.dim(axis), rank - 1 - axis);
  Value& behind =
      padder.Emit("Cast", {&padder.Scalar(dim)}, {{"to", static_cast<int64_t>(indices.dtype())}});
  Value& sent = padder.Emit("Where", {&mask, &indices, &behind});
  Value& grown = padder.Emit("Pad", {&data, &padder.Ints({0, 1}), nullptr, &padder.Ints({axis})});
  Value& all = padder.Emit("ScatterElements", {&grown, &sent, &node.input(2)}, node.attrs());
  Value& result =
      padder.Emit("Slice", {&all, &padder.Ints({0}), &padder.Ints({dim}), &padder.Ints({axis})});
  RETURN_IF_ERROR(padder.status());
  padder.graph().ReplaceAllUses(node.output(0), result);
  return padder.SetAxes(result, std::move(axes));
}

// Writes a few elements into a cache, at positions that the Run knows.
absl::Status PadTensorScatter(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const PaddedAxes updates = padder.AxesOf(node.input(1));
  const int64_t axis = CountedAxis(node, "axis", -2, static_cast<int64_t>(axes.size()));
  if (node.attrs().String("mode", "linear") != "linear") {
    return absl::UnimplementedError("a circular cache has no padding");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (static_cast<int64_t>(i) == axis) continue;
    RETURN_IF_ERROR(padder.RequireEqual(axes[i].extent, updates[i].extent));
    axes[i].zeros &= updates[i].zeros;
  }
  if (const Affine written = updates[axis].extent; !written.is_constant()) {
    return ScatterPadded(padder, node, static_cast<int>(axis), written, std::move(axes));
  }
  return Finish(padder, node, std::move(axes));
}

}  // namespace onnx_cudnn

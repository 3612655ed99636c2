// Concat and Split: copies slabs of rows between one tensor and several.
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

Support CheckConcat(const Node& node) {
  if (Support same = CheckSameDType(node, static_cast<int>(node.inputs().size())); !same)
    return same;
  return CheckAxis(node.attrs().Int("axis", 0), node.output(0).rank());
}

Support CheckSplit(const Node& node) {
  return CheckAxis(node.attrs().Int("axis", 0), node.input(0).rank());
}

// Whether `part` equals `whole` except along the axis.
absl::Status CheckPart(absl::Span<const int64_t> part, absl::Span<const int64_t> whole,
                       int64_t axis) {
  Dims expected(whole.begin(), whole.end());
  if (part.size() == whole.size()) expected[axis] = part[axis];
  return ExpectDims("a part", part, expected);
}

absl::Status CheckExtents(int64_t parts, int64_t whole, int64_t axis) {
  if (parts == whole) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the parts have ", parts, " elements along axis ",
                                                 axis, ", the whole has ", whole));
}

absl::Status ReferenceConcat(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", 0), out.dims.size());
  int64_t extents = 0;
  for (const TensorRef& in : args.in) {
    RETURN_IF_ERROR(CheckPart(in.dims, out.dims, axis));
    extents += in.dims[axis];
  }
  RETURN_IF_ERROR(CheckExtents(extents, out.dims[axis], axis));
  const int bytes = ElementBytes(out.dtype);
  const AxisView view = ViewAround(out.dims, axis);
  char* to = static_cast<char*>(out.data);
  for (const TensorRef& in : args.in) {
    const int64_t run = in.dims[axis] * view.inner;
    StridedCopy(in.data, to, bytes, {{view.outer, run, view.extent * view.inner}, {run, 1, 1}},
                args.threads);
    to += run * bytes;
  }
  return absl::OkStatus();
}

absl::Status ReferenceSplit(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", 0), in.dims.size());
  Dims extents;
  int64_t sum = 0;
  for (const MutableTensorRef& out : args.out) {
    if (!out.present()) return absl::UnimplementedError("an output is absent");
    RETURN_IF_ERROR(CheckPart(out.dims, in.dims, axis));
    extents.push_back(out.dims[axis]);
    sum += out.dims[axis];
  }
  RETURN_IF_ERROR(CheckExtents(sum, in.dims[axis], axis));
  if (args.has_in(1)) RETURN_IF_ERROR(ExpectDims("split", IntsOf(args.in[1]), extents));
  const int bytes = ElementBytes(in.dtype);
  const AxisView view = ViewAround(in.dims, axis);
  const char* from = static_cast<const char*>(in.data);
  for (const MutableTensorRef& out : args.out) {
    const int64_t run = out.dims[axis] * view.inner;
    StridedCopy(from, out.data, bytes, {{view.outer, view.extent * view.inner, run}, {run, 1, 1}},
                args.threads);
    from += run * bytes;
  }
  return absl::OkStatus();
}

OpDef RowsOp(decltype(OpDef::check) check, decltype(OpDef::reference) reference) {
  return {.types = kMovableTypes,
          .check = check,
          .reference = reference,
          .traits = {.moves_bytes = true, .keeps_range = true, .axis = AxisRange::kDims}};
}

}  // namespace

OpDef ConcatOp() { return RowsOp(CheckConcat, ReferenceConcat); }
OpDef SplitOp() { return RowsOp(CheckSplit, ReferenceSplit); }

}  // namespace onnx_cudnn

// Gather, GatherElements, GatherND: copies elements selected by indices, each checked before use.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;

Support CheckGather(const Node& node) {
  return CheckAxis(node.attrs().Int("axis", 0), node.input(0).rank());
}

// Rows of `row` elements: to[i] = from[source(i)], i < count.
template <typename Source>
void CopyRows(const void* from, void* to, int element_bytes, int64_t row, int64_t count,
              ThreadPool& threads, const Source& source) {
  if (row == 0) return;
  VisitElementSize(element_bytes, [&](auto element) {
    using E = decltype(element);
    const E* read = static_cast<const E*>(from);
    E* write = static_cast<E*>(to);
    threads.ParallelFor(count, std::max<int64_t>(1, kGrainBytes / (row * element_bytes)),
                        [&](int64_t i, int64_t end) {
                          for (; i < end; ++i)
                            std::copy_n(read + source(i) * row, row, write + i * row);
                        });
  });
}

absl::Status ReferenceGather(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", 0), in.dims.size());
  const AxisView view = ViewAround(in.dims, axis);
  ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                   CheckedIndices(args.in[1], view.extent, axis));
  Dims dims(in.dims.begin(), in.dims.begin() + axis);
  dims.insert(dims.end(), args.in[1].dims.begin(), args.in[1].dims.end());
  dims.insert(dims.end(), in.dims.begin() + axis + 1, in.dims.end());
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const int64_t picked = indices.size();
  CopyRows(in.data, args.out[0].data, ElementBytes(in.dtype), view.inner, view.outer * picked,
           args.threads, [&](int64_t i) { return i / picked * view.extent + indices[i % picked]; });
  return absl::OkStatus();
}

absl::Status ReferenceGatherElements(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const absl::Span<const int64_t> dims = args.in[1].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", 0), in.dims.size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                   CheckedIndices(args.in[1], in.dims[axis], axis));
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims.size() == in.dims.size() && (static_cast<int64_t>(a) == axis || dims[a] <= in.dims[a]))
      continue;
    return absl::InvalidArgumentError(absl::StrCat("indices ", ToString(dims), " exceed ",
                                                   ToString(in.dims), " beside axis ", axis));
  }
  const std::vector<int64_t> strides = RowMajorStrides(in.dims);
  CopyRows(in.data, args.out[0].data, ElementBytes(in.dtype), 1, indices.size(), args.threads,
           [&](int64_t i) {
             int64_t source = indices[i] * strides[axis];
             for (int64_t a = dims.size() - 1, rest = i; a >= 0; rest /= dims[a--]) {
               if (a != axis) source += rest % dims[a] * strides[a];
             }
             return source;
           });
  return absl::OkStatus();
}

Support CheckGatherND(const Node& node) {
  const int64_t batch = node.attrs().Int("batch_dims", 0);
  if (batch >= 0 && batch < std::min(node.input(0).rank(), node.input(1).rank()))
    return Support::Yes();
  return Support::No(absl::StrCat("batch_dims ", batch, " is not below the ranks of its inputs"));
}

absl::Status ReferenceGatherND(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const absl::Span<const int64_t> index_dims = args.in[1].dims;
  const size_t batch = args.node.attrs().Int("batch_dims", 0);
  const int64_t depth = index_dims.back();
  if (depth < 1 || batch + depth > in.dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat("indices of ", depth, " coordinates for rank ",
                                                   in.dims.size(), " with ", batch, " batch axes"));
  }
  RETURN_IF_ERROR(
      ExpectDims("batch axes of the indices", index_dims.first(batch), in.dims.first(batch)));
  const absl::Span<const int64_t> row_dims = in.dims.subspan(batch + depth);
  const int64_t batches = ElementsOf(in.dims.first(batch)),
                picked = ElementsOf(index_dims.first(index_dims.size() - 1));
  Dims dims(index_dims.begin(), index_dims.end() - 1);
  dims.insert(dims.end(), row_dims.begin(), row_dims.end());
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const std::vector<int64_t> coordinates = IntsOf(args.in[1]);
  std::vector<int64_t> rows(picked);
  for (int64_t i = 0; i < picked; ++i) {
    rows[i] = i / (picked / batches);
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t extent = in.dims[batch + d];
      ASSIGN_OR_RETURN(const int64_t index,
                       CheckedIndex(coordinates[i * depth + d], extent, batch + d));
      rows[i] = rows[i] * extent + index;
    }
  }
  CopyRows(in.data, args.out[0].data, ElementBytes(in.dtype), ElementsOf(row_dims), picked,
           args.threads, [&](int64_t i) { return rows[i]; });
  return absl::OkStatus();
}

// Computes `rows` positions in `steps` steps each; only the selected elements of the data are read.
Cost CostOfPicks(const Node& node, int64_t rows, int64_t steps) {
  return {.us = ScalarUs(rows * steps),
          .bytes = node.input(1).bytes() + 2 * node.output(0).bytes()};
}

Cost GatherCost(const Node& node) {
  const Dims dims = node.input(0).dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), node.input(0).rank());
  const int64_t outer = ElementsOf(absl::MakeConstSpan(dims).first(axis));
  return CostOfPicks(node, outer * node.input(1).elements(), 1);
}

Cost GatherElementsCost(const Node& node) {
  return CostOfPicks(node, node.output(0).elements(), node.output(0).rank());
}

Cost GatherNDCost(const Node& node) {
  const Value& indices = node.input(1);
  const int64_t depth = std::max<int64_t>(1, indices.dim(indices.rank() - 1));
  return CostOfPicks(node, indices.elements() / depth, 1 + depth);
}

OpDef PickingOp(decltype(OpDef::check) check, decltype(OpDef::reference) reference,
                decltype(OpDef::cost) cost, OpTraits traits) {
  traits.moves_bytes = true;
  return {.types = kMovableTypes,
          .check = check,
          .reference = reference,
          .cost = cost,
          .traits = traits};
}

}  // namespace

OpDef GatherOp() {
  return PickingOp(CheckGather, ReferenceGather, GatherCost,
                   {.keeps_range = true, .axis = AxisRange::kDims});
}
OpDef GatherElementsOp() {
  return PickingOp(CheckGather, ReferenceGatherElements, GatherElementsCost,
                   {.axis = AxisRange::kDims});
}
OpDef GatherNDOp() { return PickingOp(CheckGatherND, ReferenceGatherND, GatherNDCost, {}); }

}  // namespace onnx_cudnn

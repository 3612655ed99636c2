// Expand and Tile: repeats elements.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

// Numpy's two-way broadcast; InvalidArgument if two extents differ and neither is 1.
absl::StatusOr<Dims> Broadcast(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (absl::Span<const int64_t> part : {a, b}) {
    for (size_t back = 1; back <= part.size(); ++back) {
      int64_t& extent = dims[dims.size() - back];
      const int64_t own = part[part.size() - back];
      if (extent == 1) extent = own;
      if (own != 1 && own != extent) {
        return absl::InvalidArgumentError(
            absl::StrCat(ToString(a), " does not broadcast to ", ToString(b)));
      }
    }
  }
  return dims;
}

absl::Status ReferenceExpand(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const MutableTensorRef& out = args.out[0];
  ASSIGN_OR_RETURN(const Dims dims, Broadcast(in.dims, IntsOf(args.in[1])));
  RETURN_IF_ERROR(ExpectDims("output", out.dims, dims));
  const std::vector<int64_t> from = RowMajorStrides(in.dims), to = RowMajorStrides(dims);
  std::vector<CopyAxis> axes;
  const size_t added = dims.size() - in.dims.size();
  for (size_t a = 0; a < dims.size(); ++a) {
    const bool repeats = a < added || in.dims[a - added] == 1;
    axes.push_back({dims[a], repeats ? 0 : from[a - added], to[a]});
  }
  StridedCopy(in.data, out.data, ElementBytes(in.dtype), std::move(axes), args.threads);
  return absl::OkStatus();
}

absl::Status ReferenceTile(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const MutableTensorRef& out = args.out[0];
  const std::vector<int64_t> repeats = IntsOf(args.in[1]);
  if (repeats.size() != in.dims.size() || out.dims.size() != in.dims.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(repeats.size(), " repeats for rank ", in.dims.size()));
  }
  const std::vector<int64_t> from = RowMajorStrides(in.dims), to = RowMajorStrides(out.dims);
  std::vector<CopyAxis> axes;
  for (size_t a = 0; a < repeats.size(); ++a) {
    if (in.dims[a] != 0 && repeats[a] != out.dims[a] / in.dims[a]) {
      return absl::InvalidArgumentError(
          absl::StrCat("repeats ", ToString(absl::MakeConstSpan(repeats)), " of ",
                       ToString(in.dims), " do not give ", ToString(out.dims)));
    }
    axes.push_back({repeats[a], 0, in.dims[a] * to[a]});
    axes.push_back({in.dims[a], from[a], to[a]});
  }
  StridedCopy(in.data, out.data, ElementBytes(in.dtype), std::move(axes), args.threads);
  return absl::OkStatus();
}

OpDef RepeatingOp(decltype(OpDef::reference) reference) {
  return {.types = kMovableTypes,
          .reference = reference,
          .traits = {.moves_bytes = true, .keeps_range = true}};
}

}  // namespace

OpDef ExpandOp() { return RepeatingOp(ReferenceExpand); }
OpDef TileOp() { return RepeatingOp(ReferenceTile); }

}  // namespace onnx_cudnn

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

// The elements taken along one axis: start, start + step, … (`count` of them).
struct Range {
  int64_t start = 0, step = 1, count = 0;
};

absl::StatusOr<Range> Clamp(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (step == 0) return absl::InvalidArgumentError("a step is 0");
  if (start < 0) start += extent;  // the lowest i64 stays negative, since extents are nonnegative
  if (end < 0) end += extent;
  Range range{.step = step};
  if (step > 0) {
    range.start = std::clamp<int64_t>(start, 0, extent);
    const int64_t length = std::clamp<int64_t>(end, 0, extent) - range.start;
    range.count = length <= 0 ? 0 : (length - 1) / step + 1;
  } else {
    range.start = std::min(std::max<int64_t>(start, 0), extent - 1);
    const int64_t length = range.start - std::clamp<int64_t>(end, -1, extent - 1);
    range.count = length <= 0 ? 0 : -((length - 1) / step) + 1;
  }
  return range;
}

absl::StatusOr<std::vector<Range>> RangesOf(const ReferenceArgs& args) {
  absl::Span<const int64_t> dims = args.in[0].dims;
  std::vector<Range> ranges;
  for (int64_t extent : dims) ranges.push_back({.count = extent});
  const std::vector<int64_t> starts = IntsOf(args.in[1]), ends = IntsOf(args.in[2]);
  const std::vector<int64_t> steps =
      args.has_in(4) ? IntsOf(args.in[4]) : std::vector<int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || steps.size() != starts.size() ||
      starts.size() > dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat(starts.size(), " starts, ", ends.size(),
                                                   " ends and ", steps.size(), " steps for rank ",
                                                   dims.size()));
  }
  // Without axes, the values apply to the first axes.
  const int64_t rank = args.has_in(3) ? dims.size() : starts.size();
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, AxesOf(args, 3, rank, starts.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(ranges[axes[i]], Clamp(starts[i], ends[i], steps[i], dims[axes[i]]));
  }
  return ranges;
}

absl::Status ReferenceSlice(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  ASSIGN_OR_RETURN(const std::vector<Range> ranges, RangesOf(args));
  const std::vector<int64_t> from = RowMajorStrides(in.dims),
                             to = RowMajorStrides(args.out[0].dims);
  Dims counts;
  for (const Range& range : ranges) counts.push_back(range.count);
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, counts));
  const int bytes = ElementBytes(in.dtype);
  int64_t first = 0;
  std::vector<CopyAxis> axes;
  for (size_t a = 0; a < ranges.size(); ++a) {
    if (ranges[a].count == 0) return absl::OkStatus();
    first += ranges[a].start * from[a];
    axes.push_back({ranges[a].count, ranges[a].count == 1 ? 0 : ranges[a].step * from[a], to[a]});
  }
  StridedCopy(static_cast<const char*>(in.data) + first * bytes, args.out[0].data, bytes,
              std::move(axes), args.threads);
  return absl::OkStatus();
}

}  // namespace

OpDef SliceOp() {
  return {.types = kMovableTypes,
          .reference = ReferenceSlice,
          .cost = [](const Node& n) { return Cost{.bytes = 2 * n.output(0).bytes()}; },
          .traits = {.moves_bytes = true, .keeps_range = true}};
}

}  // namespace onnx_cudnn

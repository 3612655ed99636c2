#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

struct Range {
  int64_t begin, end;
};

constexpr double kFarthest = 1 << 30;  // limit for the end of a box; beyond any input

// The input elements of each output along one axis of a box from `first` to `last`, inclusive.
template <typename T>
std::vector<Range> RangesOf(T first, T last, int64_t in, int64_t out) {
  const T limit = static_cast<T>(in), farthest = static_cast<T>(kFarthest);
  const auto place = [&](T at) {  // NaN becomes -farthest
    return at > -farthest ? std::min(std::round(at), farthest) : -farthest;
  };
  const T begin = place(first), extent = std::max(place(last) - begin + 1, T{1});
  const T bin = extent / static_cast<T>(out);
  std::vector<Range> ranges;
  for (int64_t o = 0; o < out; ++o) {
    const T low = std::floor(static_cast<T>(o) * bin) + begin;
    const T high = std::ceil(static_cast<T>(o + 1) * bin) + begin;
    ranges.push_back({static_cast<int64_t>(std::clamp(low, T{0}, limit)),
                      static_cast<int64_t>(std::clamp(high, T{0}, limit))});
  }
  return ranges;
}

// The largest element of a part of a plane; 0 if the part is empty.
template <typename T>
T LargestOf(const T* plane, int64_t width, Range rows, Range columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return 0;
  T largest = LowestOf<T>();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const T* from = plane + row * width;
    largest = std::max(largest, *std::max_element(from + columns.begin, from + columns.end));
  }
  return largest;
}

template <typename T>
absl::Status Pool(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims, out = args.out[0].dims;
  const T scale = args.node.attrs().Float("spatial_scale", 1);
  const T* x = static_cast<const T*>(args.in[0].data);
  const T* box = static_cast<const T*>(args.in[1].data);
  T* y = static_cast<T*>(args.out[0].data);
  for (int64_t r = 0; r < out[0]; ++r, box += 5) {
    if (!(box[0] >= 0 && box[0] < static_cast<T>(dims[0])))
      return absl::InvalidArgumentError(
          absl::StrCat("box ", r, " is of image ", box[0], " of ", dims[0]));
    const T* image = x + static_cast<int64_t>(box[0]) * dims[1] * dims[2] * dims[3];
    const std::vector<Range> columns = RangesOf(box[1] * scale, box[3] * scale, dims[3], out[3]);
    const std::vector<Range> rows = RangesOf(box[2] * scale, box[4] * scale, dims[2], out[2]);
    args.threads.ParallelFor(dims[1], 1, [&](int64_t c, int64_t end) {
      for (; c < end; ++c) {
        for (int64_t o = 0; o < out[2] * out[3]; ++o) {
          y[(r * dims[1] + c) * out[2] * out[3] + o] = LargestOf(
              image + c * dims[2] * dims[3], dims[3], rows[o / out[3]], columns[o % out[3]]);
        }
      }
    });
  }
  return absl::OkStatus();
}

absl::Status ReferenceMaxRoiPool(const ReferenceArgs& args) {
  const int64_t boxes = args.in[1].dims[0];
  const std::vector<int64_t> pooled = args.node.attrs().Ints("pooled_shape");
  RETURN_IF_ERROR(ExpectDims("rois", args.in[1].dims, {boxes, 5}));
  RETURN_IF_ERROR(
      ExpectDims("output", args.out[0].dims, {boxes, args.in[0].dims[1], pooled[0], pooled[1]}));
  return DispatchFloat(args.in[0].dtype, [&](auto type) { return Pool<decltype(type)>(args); });
}

Support CheckMaxRoiPool(const Node& node) {
  if (node.input(0).rank() != 4 || node.input(1).rank() != 2)
    return Support::No(absl::StrCat("X has rank ", node.input(0).rank(), ", rois has ",
                                    node.input(1).rank(), ", expected 4 and 2"));
  if (node.attrs().Ints("pooled_shape").size() != 2)
    return Support::No("pooled_shape has not two elements");
  return CheckSameDType(node, 2);
}

// The boxes determine how much is read; half of each side is assumed. Comparisons are sequential.
Cost MaxRoiPoolCost(const Node& node) {
  constexpr int64_t kFlopsOfElement = 4;
  const Value& x = node.input(0);
  const int64_t box = x.dim(1) * CeilDiv(x.dim(2), 2) * CeilDiv(x.dim(3), 2);
  return {.flops = kFlopsOfElement * node.output(0).dim(0) * box, .bytes = IoBytes(node)};
}

}  // namespace

OpDef MaxRoiPoolOp() {
  return WidenedOp<ReferenceMaxRoiPool>({.check = CheckMaxRoiPool, .cost = MaxRoiPoolCost});
}

}  // namespace onnx_cudnn

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr double kMostSamples = 1 << 16;  // per output and axis

// One sample along one axis: between elements `low` and `high` of the input.
template <typename T>
struct Sample {
  int64_t low = 0, high = 0;
  T low_weight = 0, high_weight = 0;  // both 0 if the sample is outside
};

// One axis of one region, with `samples` samples per output.
template <typename T>
struct RoiAxis {
  int64_t samples = 0;
  std::vector<Sample<T>> at;  // [out, samples]
};

struct RoiForm {
  bool half_pixel, largest;
  int64_t sampling_ratio;
  float scale;
};

RoiForm FormOf(const Node& node) {
  const Attrs& attrs = node.attrs();
  return {attrs.String("coordinate_transformation_mode", "half_pixel") == "half_pixel",
          attrs.String("mode", "avg") == "max", attrs.Int("sampling_ratio", 0),
          attrs.Float("spatial_scale", 1)};
}

template <typename T>
Sample<T> SampleAt(T place, int64_t in) {
  if (!(place >= -1 && place <= static_cast<T>(in))) return {};
  place = std::max(place, T{0});
  const int64_t low = std::min(static_cast<int64_t>(place), in - 1);
  if (low == in - 1) return {low, low, 1, 0};
  const T fraction = place - static_cast<T>(low);
  return {low, low + 1, 1 - fraction, fraction};
}

// From `begin` to `end` in box coordinates.
template <typename T>
absl::StatusOr<RoiAxis<T>> AxisOf(const RoiForm& form, T begin, T end, int64_t in, int64_t out) {
  const T start = begin * form.scale - (form.half_pixel ? T{0.5} : T{0});
  T length = (end - begin) * form.scale;
  if (!form.half_pixel) length = std::max(length, T{1});
  const T bin = length / static_cast<T>(out);
  const double samples =
      form.sampling_ratio > 0 ? static_cast<double>(form.sampling_ratio) : std::ceil(bin);
  if (!(samples <= kMostSamples) || !std::isfinite(start)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the box from ", begin, " to ", end, " needs ", samples, " samples"));
  }
  RoiAxis<T> axis{.samples = std::max<int64_t>(0, static_cast<int64_t>(samples)), .at = {}};
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t s = 0; s < axis.samples; ++s) {
      const T within = (static_cast<T>(s) + T{0.5}) * bin / static_cast<T>(axis.samples);
      axis.at.push_back(SampleAt(start + static_cast<T>(o) * bin + within, in));
    }
  }
  return axis;
}

// One output of one channel. With `largest`, takes the largest weighted neighbour, as ONNX's
// reference implementation does.
template <typename T>
T Pool(const T* x, int64_t width, absl::Span<const Sample<T>> rows,
       absl::Span<const Sample<T>> columns, bool largest) {
  T sum = 0, best = 0;
  bool first = true;
  for (const Sample<T>& h : rows) {
    const T *low = x + h.low * width, *high = x + h.high * width;
    for (const Sample<T>& w : columns) {
      const T parts[] = {
          h.low_weight * w.low_weight * low[w.low], h.low_weight * w.high_weight * low[w.high],
          h.high_weight * w.low_weight * high[w.low], h.high_weight * w.high_weight * high[w.high]};
      const T part = *std::max_element(std::begin(parts), std::end(parts));
      best = first ? part : std::max(best, part);
      first = false;
      sum += parts[0] + parts[1] + parts[2] + parts[3];
    }
  }
  if (largest) return best;
  return first ? T{0} : sum / static_cast<T>(rows.size() * columns.size());
}

template <typename T>
absl::Status Align(const ReferenceArgs& args, absl::Span<const int64_t> images) {
  const RoiForm form = FormOf(args.node);
  const absl::Span<const int64_t> dims = args.in[0].dims, out = args.out[0].dims;
  const int64_t channels = dims[1], height = dims[2], width = dims[3];
  const T *x = static_cast<const T*>(args.in[0].data),
          *box = static_cast<const T*>(args.in[1].data);
  T* y = static_cast<T*>(args.out[0].data);
  for (int64_t r = 0; r < out[0]; ++r, box += 4) {
    ASSIGN_OR_RETURN(const RoiAxis<T> columns, AxisOf<T>(form, box[0], box[2], width, out[3]));
    ASSIGN_OR_RETURN(const RoiAxis<T> rows, AxisOf<T>(form, box[1], box[3], height, out[2]));
    const int64_t plane_size = out[2] * out[3];
    args.threads.ParallelFor(channels, 1, [&](int64_t c, int64_t end) {
      for (; c < end; ++c) {
        const T* plane = x + (images[r] * channels + c) * height * width;
        for (int64_t o = 0; o < plane_size; ++o) {
          const absl::Span<const Sample<T>> h(rows.at), w(columns.at);
          y[(r * channels + c) * plane_size + o] =
              Pool(plane, width, h.subspan(o / out[3] * rows.samples, rows.samples),
                   w.subspan(o % out[3] * columns.samples, columns.samples), form.largest);
        }
      }
    });
  }
  return absl::OkStatus();
}

absl::Status ReferenceRoiAlign(const ReferenceArgs& args) {
  const absl::Span<const int64_t> x = args.in[0].dims, out = args.out[0].dims;
  const Attrs& attrs = args.node.attrs();
  const int64_t boxes = args.in[1].dims[0];
  RETURN_IF_ERROR(ExpectDims("rois", args.in[1].dims, {boxes, 4}));
  RETURN_IF_ERROR(ExpectDims("batch_indices", args.in[2].dims, {boxes}));
  RETURN_IF_ERROR(ExpectDims(
      "output", out, {boxes, x[1], attrs.Int("output_height", 1), attrs.Int("output_width", 1)}));
  if (args.out[0].elements() == 0) return absl::OkStatus();
  if (ElementsOf(x) == 0)
    return absl::InvalidArgumentError(absl::StrCat("X ", ToString(x), " has nothing to sample"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> images, CheckedIndices(args.in[2], x[0], 0));
  return DispatchFloat(args.in[0].dtype,
                       [&](auto type) { return Align<decltype(type)>(args, images); });
}

Support CheckRoiAlign(const Node& node) {
  constexpr int kRanks[] = {4, 2, 1};
  for (int i = 0; i < 3; ++i) {
    if (node.input(i).rank() != kRanks[i])
      return Support::No(
          absl::StrCat("input ", i, " has rank ", node.input(i).rank(), ", expected ", kRanks[i]));
  }
  const std::string mode = node.attrs().String("mode", "avg");
  if (mode != "avg" && mode != "max")
    return Support::No(absl::StrCat("mode \"", mode, "\" is unknown"));
  const std::string coordinates =
      node.attrs().String("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return Support::No(
        absl::StrCat("coordinate_transformation_mode \"", coordinates, "\" is unknown"));
  return CheckSameDType(node, 2);
}

// Without a ratio the boxes determine the number of samples; half of each side is assumed.
Cost RoiAlignCost(const Node& node) {
  constexpr int64_t kFlopsOfSample = 16;  // four neighbours with two weights each, sums, maximum
  const RoiForm form = FormOf(node);
  int64_t samples = node.output(0).elements();
  for (int axis : {2, 3}) {
    const int64_t bins = std::max<int64_t>(1, node.output(0).dim(axis));
    samples *=
        form.sampling_ratio > 0 ? form.sampling_ratio : CeilDiv(node.input(0).dim(axis), 2 * bins);
  }
  return {.flops = kFlopsOfSample * samples, .bytes = IoBytes(node)};
}

}  // namespace

OpDef RoiAlignOp() {
  return WidenedOp<ReferenceRoiAlign>({.check = CheckRoiAlign, .cost = RoiAlignCost});
}

}  // namespace onnx_cudnn

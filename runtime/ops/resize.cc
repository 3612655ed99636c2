#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/resize_axis.h"
#include "runtime/ops/saturate.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

enum Input { kData, kRoi, kScales, kSizes };

std::vector<double> Numbers(const ReferenceArgs& args, size_t i) {
  std::vector<double> numbers;
  if (!args.has_in(i)) return numbers;
  const TensorRef& ref = args.in[i];
  if (ref.dtype == DType::kF32) numbers.assign(ref.as<float>().begin(), ref.as<float>().end());
  if (ref.dtype == DType::kF64) numbers.assign(ref.as<double>().begin(), ref.as<double>().end());
  if (ref.dtype == DType::kI64) numbers.assign(ref.as<int64_t>().begin(), ref.as<int64_t>().end());
  return numbers;
}

absl::Status CheckCount(const char* what, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s has %d values, expected %d", what, found, expected));
}

// One scale for all axes, so that the result is not larger, or not smaller, than the requested
// sizes.
double CommonScale(const std::vector<double>& scales, std::string_view policy) {
  return policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                : *std::max_element(scales.begin(), scales.end());
}

bool IsStretched(const Node& node) {
  return node.attrs().String("keep_aspect_ratio_policy", "stretch") == "stretch";
}

// The scales of `axes`, computed from the sizes if those are given.
absl::StatusOr<std::vector<double>> ScalesOf(const ReferenceArgs& args,
                                             const std::vector<int64_t>& axes) {
  std::vector<double> scales = Numbers(args, kScales);
  if (!scales.empty()) {
    RETURN_IF_ERROR(CheckCount("scales", scales.size(), axes.size()));
    return scales;
  }
  const std::vector<double> sizes = Numbers(args, kSizes);
  RETURN_IF_ERROR(CheckCount("sizes", sizes.size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i)
    scales.push_back(sizes[i] / static_cast<double>(args.in[kData].dims[axes[i]]));
  if (!IsStretched(args.node) && !scales.empty()) {
    const std::string policy = args.node.attrs().String("keep_aspect_ratio_policy", "stretch");
    scales.assign(scales.size(), CommonScale(scales, policy));
  }
  return scales;
}

absl::StatusOr<std::vector<ResizeAxis>> ResizeAxesOf(const ReferenceArgs& args) {
  const absl::Span<const int64_t> in = args.in[kData].dims, out = args.out[0].dims;
  RETURN_IF_ERROR(CheckCount("output's dims", out.size(), in.size()));
  const std::vector<int64_t> axes = ResizedAxes(args.node, static_cast<int64_t>(in.size()));
  ASSIGN_OR_RETURN(const std::vector<double> scales, ScalesOf(args, axes));
  std::vector<double> roi;
  if (args.node.attrs().String("coordinate_transformation_mode", "half_pixel") ==
      "tf_crop_and_resize") {
    roi = Numbers(args, kRoi);
    RETURN_IF_ERROR(CheckCount("roi", roi.size(), 2 * axes.size()));
  }
  const bool sizes_are_exact = Numbers(args, kScales).empty() && IsStretched(args.node);
  std::vector<ResizeAxis> resized(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    resized[i] = {.in = in[i], .out = in[i], .length = static_cast<double>(in[i])};
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = resized[axes[i]];
    axis.out = out[axes[i]];
    axis.scale = scales[i];
    axis.length =
        sizes_are_exact ? static_cast<double>(axis.out) : axis.scale * static_cast<double>(axis.in);
    if (!(axis.scale > 0) || std::isinf(axis.scale)) {
      if (axis.in != 0 && axis.out != 0)
        return absl::InvalidArgumentError(absl::StrFormat("scale %d is %g", i, scales[i]));
    }
    if (!roi.empty()) axis.roi_begin = roi[i], axis.roi_end = roi[axes.size() + i];
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (resized[i].out != out[i] || (in[i] == 0 && out[i] != 0)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("input %s cannot be resized to %s", ToString(in), ToString(out)));
    }
  }
  return resized;
}

// ONNX rounds computed sizes; the output's dims must equal them.
absl::Status CheckOutput(const ReferenceArgs& args, const std::vector<ResizeAxis>& axes) {
  const std::vector<double> sizes =
      Numbers(args, kScales).empty() ? Numbers(args, kSizes) : std::vector<double>();
  if (!sizes.empty() && IsStretched(args.node)) {
    const std::vector<int64_t> listed = ResizedAxes(args.node, static_cast<int64_t>(axes.size()));
    for (size_t i = 0; i < listed.size(); ++i) {
      if (static_cast<double>(axes[listed[i]].out) == sizes[i]) continue;
      return absl::InvalidArgumentError(
          absl::StrFormat("output has extent %d at axis %d, sizes say %g", axes[listed[i]].out,
                          listed[i], sizes[i]));
    }
    return absl::OkStatus();
  }
  for (const ResizeAxis& axis : axes) {
    const double length = axis.length;
    if (std::abs(length - static_cast<double>(axis.out)) <= 1 + 1e-6 * length) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("output has extent %d, the scales give %g", axis.out, length));
  }
  return absl::OkStatus();
}

// y[outer, out, inner] from x[outer, in, inner].
template <typename T>
void ResizeOne(ThreadPool& threads, const ResizeAxis& axis, const ResizeTable& table, int64_t outer,
               int64_t inner, T outside, const T* x, T* y) {
  threads.ParallelFor(outer * axis.out, GrainFor(inner * table.taps),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          const int64_t o = row % axis.out;
                          const T* image = x + row / axis.out * axis.in * inner;
                          T* to = y + row * inner;
                          std::fill_n(to, inner, table.outside[o] != 0 ? outside : T{0});
                          if (table.outside[o] != 0) continue;
                          for (int64_t t = o * table.taps; t < (o + 1) * table.taps; ++t) {
                            const T weight = static_cast<T>(table.weight[t]);
                            if (weight == 0) continue;
                            const T* from = image + table.index[t] * inner;
                            for (int64_t i = 0; i < inner; ++i) to[i] += weight * from[i];
                          }
                        }
                      });
}

ResizeMode ModeOf(const Attrs& attrs, const std::string& coordinates) {
  return {.coordinates = coordinates,
          .nearest = "",
          .cubic_a = attrs.Float("cubic_coeff_a", -0.75f),
          .antialias = attrs.Int("antialias", 0) != 0,
          .exclude_outside = attrs.Int("exclude_outside", 0) != 0};
}

// Axes that shrink come first, so that no intermediate tensor is larger than both input and output.
std::vector<size_t> PassOrder(const std::vector<ResizeAxis>& axes) {
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t i) { return axes[i].out < axes[i].in; });
  return order;
}

// The accumulator type; integers are rounded once, at the end.
template <typename T>
using SumOf = std::conditional_t<std::is_integral_v<T>, double, T>;

DType SumType(DType dtype) { return kFloatTypes.Has(dtype) ? WideType(dtype) : DType::kF64; }

template <typename T>
T ElementOf(SumOf<T> sum) {
  if constexpr (std::is_integral_v<T>) {
    return Saturate<T>(sum);
  } else {
    return sum;
  }
}

// Resizes one axis after the other; the workspace holds the two intermediate tensors.
template <typename T>
void Interpolate(const ReferenceArgs& args, const std::vector<ResizeAxis>& axes,
                 int64_t half_elements) {
  using Sum = SumOf<T>;
  const std::string coordinates =
      args.node.attrs().String("coordinate_transformation_mode", "half_pixel");
  const ResizeMode mode = ModeOf(args.node.attrs(), coordinates);
  const bool cubic = args.node.attrs().String("mode", "nearest") == "cubic";
  const Sum outside = args.node.attrs().Float("extrapolation_value", 0);
  Dims dims(args.in[kData].dims.begin(), args.in[kData].dims.end());
  const T* x = static_cast<const T*>(args.in[kData].data);
  Sum* halves[2] = {static_cast<Sum*>(args.workspace),
                    static_cast<Sum*>(args.workspace) + half_elements};
  const Sum* from = halves[1];
  if constexpr (std::is_same_v<Sum, T>) {
    from = x;
  } else {
    std::transform(x, x + args.in[kData].elements(), halves[1], Widen<Sum, T>);
  }
  int pass = 0;
  for (size_t i : PassOrder(axes)) {
    const ResizeTable table = cubic ? CubicTable(axes[i], mode) : LinearTable(axes[i], mode);
    if (table.identity) continue;
    const AxisView view = ViewAround(dims, static_cast<int64_t>(i));
    Sum* to = halves[pass++ % 2];
    ResizeOne(args.threads, axes[i], table, view.outer, view.inner, outside, from, to);
    dims[i] = axes[i].out;
    from = to;
  }
  std::transform(from, from + args.out[0].elements(), static_cast<T*>(args.out[0].data),
                 ElementOf<T>);
}

// Copies elements unchanged; with tf_crop_and_resize, positions outside get extrapolation_value.
template <typename T>
void Nearest(const ReferenceArgs& args, const std::vector<ResizeAxis>& axes) {
  const std::string coordinates =
      args.node.attrs().String("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = args.node.attrs().String("nearest_mode", "round_prefer_floor");
  ResizeMode mode = ModeOf(args.node.attrs(), coordinates);
  mode.nearest = nearest;
  const T outside = ElementOf<T>(args.node.attrs().Float("extrapolation_value", 0));
  std::vector<ResizeTable> tables;
  for (const ResizeAxis& axis : axes) tables.push_back(NearestTable(axis, mode));
  const T* x = static_cast<const T*>(args.in[kData].data);
  T* y = static_cast<T*>(args.out[0].data);
  const ResizeAxis& last = axes.back();
  const ResizeTable& columns = tables.back();
  args.threads.ParallelFor(
      args.out[0].elements() / last.out, GrainFor(last.out), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t rest = row, offset = 0, step = last.in;
          bool is_outside = false;
          for (size_t i = axes.size() - 1; i-- > 0;) {
            const int64_t o = rest % axes[i].out;
            rest /= axes[i].out;
            offset += tables[i].index[o] * step;
            step *= axes[i].in;
            is_outside |= tables[i].outside[o] != 0;
          }
          for (int64_t o = 0; o < last.out; ++o) {
            y[row * last.out + o] =
                is_outside || columns.outside[o] != 0 ? outside : x[offset + columns.index[o]];
          }
        }
      });
}

absl::Status ReferenceResize(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(args));
  RETURN_IF_ERROR(CheckOutput(args, axes));
  if (args.out[0].elements() == 0) return absl::OkStatus();
  if (axes.empty()) return absl::InvalidArgumentError("a scalar cannot be resized");
  if (args.node.attrs().String("mode", "nearest") == "nearest") {
    const bool is_bool = args.in[kData].dtype == DType::kBool;
    return DispatchNumber(is_bool ? DType::kU8 : args.in[kData].dtype, [&](auto type) {
      Nearest<decltype(type)>(args, axes);
      return absl::OkStatus();
    });
  }
  const int64_t half = std::max(args.in[kData].elements(), args.out[0].elements());
  return DispatchNumber(args.in[kData].dtype, [&](auto type) {
    Interpolate<decltype(type)>(args, axes, half);
    return absl::OkStatus();
  });
}

int64_t ResizeWorkspace(const Node& node) {
  const int64_t widened = WidenedBytes(node);
  if (node.attrs().String("mode", "nearest") == "nearest") return widened;
  const int64_t half = std::max(node.input(kData).elements(), node.output(0).elements());
  return widened + 2 * BytesOf(SumType(node.input(kData).dtype()), half);
}

Support CheckModes(const Node& node) {
  const Attrs& attrs = node.attrs();
  const std::string mode = attrs.String("mode", "nearest");
  const std::string coordinates = attrs.String("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = attrs.String("nearest_mode", "round_prefer_floor");
  const std::string policy = attrs.String("keep_aspect_ratio_policy", "stretch");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return Support::No(absl::StrCat("mode is \"", mode, "\""));
  if (!IsCoordinateMode(coordinates)) {
    return Support::No(absl::StrCat("coordinate_transformation_mode is \"", coordinates, "\""));
  }
  if (!IsNearestMode(nearest))
    return Support::No(absl::StrCat("nearest_mode is \"", nearest, "\""));
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return Support::No(absl::StrCat("keep_aspect_ratio_policy is \"", policy, "\""));
  }
  const bool is_bool = node.input(kData).dtype() == DType::kBool;
  if (mode != "nearest" && is_bool)
    return Support::No(absl::StrCat("mode \"", mode, "\" on other than numbers"));
  if (coordinates == "tf_crop_and_resize" && is_bool)
    return Support::No("tf_crop_and_resize on other than numbers");
  if (mode == "nearest" && attrs.Int("antialias", 0) != 0)
    return Support::No("antialias with mode \"nearest\"");
  return Support::Yes();
}

Support CheckResize(const Node& node) {
  if (Support s = CheckModes(node); !s) return s;
  std::vector<bool> seen(node.input(kData).rank(), false);
  for (int64_t axis : node.attrs().Ints("axes")) {
    if (Support s = CheckAxis(axis, node.input(kData).rank()); !s) return s;
    const int64_t at = NormalizedAxis(axis, node.input(kData).rank());
    if (seen[at]) return Support::No(absl::StrFormat("axis %d is listed twice", axis));
    seen[at] = true;
  }
  if (!node.has_input(kScales) && !node.has_input(kSizes))
    return Support::No("neither scales nor sizes are given");
  if (node.has_input(kScales) && node.input(kScales).dtype() != DType::kF32)
    return Support::No("scales are not f32");
  if (node.has_input(kSizes) && node.input(kSizes).dtype() != DType::kI64)
    return Support::No("sizes are not i64");
  return Support::Yes();
}

Cost ResizeCost(const Node& node) {
  const std::string mode = node.attrs().String("mode", "nearest");
  const int64_t taps = mode == "cubic" ? 4 : mode == "linear" ? 2 : 0;
  const int64_t elements = node.output(0).elements();
  return {.us = ScalarUs(taps * elements),  // along the last axis
          .flops = 4 * elements,
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef ResizeOp() {
  return {.types = kFixedSizeTypes,
          .check = CheckResize,
          .reference = Widened<ReferenceResize>,
          .workspace = ResizeWorkspace,
          .cost = ResizeCost,
          .traits = {.computes_in_f32 = true}};
}

}  // namespace onnx_cudnn

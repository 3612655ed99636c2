#include "runtime/ops/resize_axis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

bool IsCrop(const ResizeMode& mode) { return mode.coordinates == "tf_crop_and_resize"; }

// The position in the input, in elements, for output `o`. The last bit decides between two equally
// near inputs, so the dividend is rounded only once, and sums are computed in the order of ONNX's
// formulas.
double SourceOf(const ResizeAxis& axis, const ResizeMode& mode, int64_t o) {
  const double x = static_cast<double>(o), in = static_cast<double>(axis.in),
               out = static_cast<double>(axis.out), length = axis.length;
  const double pixel = (x + 0.5) * in / length;
  if (mode.coordinates == "align_corners") return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (mode.coordinates == "asymmetric") return x * in / length;
  if (mode.coordinates == "pytorch_half_pixel") return out > 1 ? pixel - 0.5 : 0;
  // Without the shift back, elements along an axis of unchanged length would be interpolated.
  if (mode.coordinates == "tf_half_pixel_for_nn") return length == in ? x : pixel;
  if (IsCrop(mode)) {
    const double extent = (axis.roi_end - axis.roi_begin) * (in - 1);
    return axis.roi_begin * (in - 1) + (out > 1 ? x * extent / (out - 1) : extent / 2);
  }
  if (mode.coordinates != "half_pixel_symmetric") return pixel - 0.5;
  return in / 2 * (1 - out / length) + pixel - 0.5;
}

// A finite position whose conversion to an integer is defined.
double Bounded(const ResizeAxis& axis, double source) {
  const double in = static_cast<double>(axis.in);
  return source > -in ? std::min(source, 2 * in) : -in;  // NaN becomes -in
}

int64_t Clamped(const ResizeAxis& axis, int64_t index) {
  return std::clamp<int64_t>(index, 0, axis.in - 1);
}

int64_t NearestOf(std::string_view mode, double x) {
  const double floor = std::floor(x), fraction = x - floor;
  const bool up = mode == "ceil"                ? fraction > 0
                  : mode == "round_prefer_ceil" ? fraction >= 0.5
                  : mode == "floor"             ? false
                                                : fraction > 0.5;
  return static_cast<int64_t>(floor) + (up ? 1 : 0);
}

void MarkIdentity(const ResizeAxis& axis, ResizeTable& table) {
  table.identity = axis.in == axis.out;
  for (int64_t o = 0; o < axis.out && table.identity; ++o) {
    table.identity = table.outside[o] == 0;
    for (int64_t t = 0; t < table.taps; ++t) {
      const double weight = table.weight[o * table.taps + t];
      table.identity &= weight == 0 || (weight == 1 && table.index[o * table.taps + t] == o);
    }
  }
}

ResizeTable EmptyTable(const ResizeAxis& axis, int64_t taps) {
  ResizeTable table;
  table.taps = taps;
  table.index.assign(axis.out * taps, 0);
  table.weight.assign(axis.out * taps, 0);
  table.outside.assign(axis.out, 0);
  return table;
}

bool IsOutside(const ResizeAxis& axis, const ResizeMode& mode, double source) {
  return IsCrop(mode) && !(source >= 0 && source <= static_cast<double>(axis.in - 1));
}

// Weights of the taps around a position with the given fraction: tap t is at floor + t - (taps / 2
// - 1).
using Kernel = absl::FunctionRef<double(double distance)>;

// A kernel of `radius` inputs to each side, widened by 1 / scale if antialias is set and the axis
// shrinks.
ResizeTable KernelTable(const ResizeAxis& axis, const ResizeMode& mode, int64_t radius,
                        Kernel kernel) {
  const double shrink = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const int64_t half = std::min<int64_t>(
      static_cast<int64_t>(std::ceil(static_cast<double>(radius) / shrink)), 2 * axis.in + radius);
  ResizeTable table = EmptyTable(axis, 2 * half);
  for (int64_t o = 0; o < axis.out; ++o) {
    const double source = SourceOf(axis, mode, o);
    table.outside[o] = IsOutside(axis, mode, source) ? 1 : 0;
    const double x = Bounded(axis, source), floor = std::floor(x);
    double sum = 0;
    std::vector<double> weights(table.taps);
    for (int64_t t = 0; t < table.taps; ++t) {
      const int64_t at = static_cast<int64_t>(floor) + t - (half - 1);
      const bool dropped = mode.exclude_outside && (at < 0 || at >= axis.in);
      weights[t] = dropped ? 0 : kernel((static_cast<double>(at) - x) * shrink);
      table.index[o * table.taps + t] = Clamped(axis, at);
      sum += weights[t];
    }
    for (int64_t t = 0; t < table.taps; ++t) {
      table.weight[o * table.taps + t] = sum == 0 ? 0 : weights[t] / sum;
    }
  }
  MarkIdentity(axis, table);
  return table;
}

// Keys' cubic convolution with two inputs to each side.
double Cubic(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace

std::vector<int64_t> ResizedAxes(const Node& resize, int64_t rank) {
  std::vector<int64_t> axes = resize.attrs().Ints("axes");
  for (int64_t& axis : axes) axis = NormalizedAxis(axis, rank);
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

bool IsCoordinateMode(std::string_view mode) {
  for (std::string_view known :
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_crop_and_resize", "tf_half_pixel_for_nn"}) {
    if (mode == known) return true;
  }
  return false;
}

bool IsNearestMode(std::string_view mode) {
  return mode == "round_prefer_floor" || mode == "round_prefer_ceil" || mode == "floor" ||
         mode == "ceil";
}

ResizeTable NearestTable(const ResizeAxis& axis, const ResizeMode& mode) {
  ResizeTable table = EmptyTable(axis, 1);
  for (int64_t o = 0; o < axis.out; ++o) {
    const double source = SourceOf(axis, mode, o);
    table.outside[o] = IsOutside(axis, mode, source) ? 1 : 0;
    table.index[o] = Clamped(axis, NearestOf(mode.nearest, Bounded(axis, source)));
    table.weight[o] = 1;
  }
  MarkIdentity(axis, table);
  return table;
}

ResizeTable LinearTable(const ResizeAxis& axis, const ResizeMode& mode) {
  return KernelTable(axis, mode, 1, [](double x) { return std::max(0.0, 1 - std::abs(x)); });
}

ResizeTable CubicTable(const ResizeAxis& axis, const ResizeMode& mode) {
  return KernelTable(axis, mode, 2, [&](double x) { return Cubic(mode.cubic_a, x); });
}

}  // namespace onnx_cudnn

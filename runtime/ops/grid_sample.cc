// GridSample over one to three spatial axes. Source: ONNX's reference implementation.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr int kMaxRank = 3;  // spatial
constexpr int kMaxTaps = 4;  // per axis
constexpr int kFar = 8;      // elements beyond an edge from which no tap reaches the input

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

struct Sampling {
  Mode mode;
  Padding padding;
  bool align_corners;
};

Sampling SamplingOf(const Node& node) {
  const std::string mode = node.attrs().String("mode", "linear");
  const std::string padding = node.attrs().String("padding_mode", "zeros");
  return {mode == "nearest" ? Mode::kNearest
          : mode == "cubic" ? Mode::kCubic
                            : Mode::kLinear,
          padding == "border"       ? Padding::kBorder
          : padding == "reflection" ? Padding::kReflection
                                    : Padding::kZeros,
          node.attrs().Int("align_corners", 0) != 0};
}

// `x` reflected at both ends into [low, high].
template <typename T>
T Reflect(T x, T low, T high) {
  const T range = high - low;
  if (!(range > 0)) return low;
  if (x >= low && x <= high) return x;
  const T rest = std::fmod(x < low ? low - x : x - high, 2 * range);
  const T inside = rest <= range ? rest : 2 * range - rest;
  return x < low ? low + inside : high - inside;
}

// The contribution of one axis to an output: input elements and their weights.
template <typename T>
struct Taps {
  int count = 0;
  std::array<int64_t, kMaxTaps> index = {};
  std::array<T, kMaxTaps> weight = {};
};

template <typename T>
class Axis {
 public:
  Axis(const Sampling& sampling, int64_t extent)
      : sampling_(sampling),
        extent_(extent),
        low_(sampling.align_corners ? T{0} : T{-0.5}),
        high_(static_cast<T>(extent) - (sampling.align_corners ? T{1} : T{0.5})) {}

  // `at` is in [-1, 1] if it is inside.
  Taps<T> TapsAt(T at) const {
    const T place = PlaceOf(at);
    const T first = std::floor(place), t = place - first;
    const int64_t index = static_cast<int64_t>(first);
    Taps<T> taps;
    if (sampling_.mode == Mode::kNearest) {
      Add(taps, index, 1);
    } else if (sampling_.mode == Mode::kLinear) {
      Add(taps, index, 1 - t);
      Add(taps, index + 1, t);
    } else {
      Add(taps, index - 1, OuterCubic(1 + t));
      Add(taps, index, InnerCubic(t));
      Add(taps, index + 1, InnerCubic(1 - t));
      Add(taps, index + 2, OuterCubic(2 - t));
    }
    return taps;
  }

 private:
  // The position in elements of the input; finite, and at most kFar beyond it.
  T PlaceOf(T at) const {
    const T extent = static_cast<T>(extent_);
    T place = sampling_.align_corners ? (at + 1) / 2 * (extent - 1) : ((at + 1) * extent - 1) / 2;
    if (sampling_.mode == Mode::kNearest) place = std::nearbyint(place);
    if (place < low_ || place > high_) {
      if (sampling_.padding == Padding::kBorder) place = std::clamp(place, T{0}, extent - 1);
      if (sampling_.padding == Padding::kReflection) place = Reflect(place, low_, high_);
    }
    if (sampling_.mode == Mode::kNearest) place = std::trunc(place);
    return place > -kFar ? std::min(place, extent + kFar) : T{-kFar};
  }

  void Add(Taps<T>& taps, int64_t index, T weight) const {
    if (sampling_.padding == Padding::kReflection)
      index = static_cast<int64_t>(Reflect(static_cast<T>(index), low_, high_));
    if (sampling_.padding != Padding::kZeros) index = std::clamp<int64_t>(index, 0, extent_ - 1);
    if (index < 0 || index >= extent_) return;
    taps.index[taps.count] = index;
    taps.weight[taps.count++] = weight;
  }

  // Keys' cubic kernel with a = -0.75, for distances below 1 and between 1 and 2.
  static T InnerCubic(T x) { return (kA + 2) * x * x * x - (kA + 3) * x * x + 1; }
  static T OuterCubic(T x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; }
  static constexpr T kA = T{-0.75};

  Sampling sampling_;
  int64_t extent_;
  T low_, high_;
};

// The combined taps of all axes: offsets within one channel.
template <typename T>
struct Point {
  int count = 0;
  std::array<int64_t, 64> offset;
  std::array<T, 64> weight;
};

template <typename T, typename G>
Point<T> PointOf(absl::Span<const Axis<T>> axes, absl::Span<const int64_t> extents, const G* grid) {
  Point<T> point;
  point.count = 1;
  point.offset[0] = 0;
  point.weight[0] = 1;
  for (size_t a = 0; a < axes.size(); ++a) {
    const T at = grid[axes.size() - 1 - a];  // x comes first
    const Taps<T> taps = axes[a].TapsAt(at);
    const Point<T> outer = point;
    point.count = 0;
    for (int i = 0; i < outer.count; ++i) {
      for (int t = 0; t < taps.count; ++t) {
        point.offset[point.count] = outer.offset[i] * extents[a] + taps.index[t];
        point.weight[point.count++] = outer.weight[i] * taps.weight[t];
      }
    }
  }
  return point;
}

// Positions and weights, in the wider of the types of x (T) and the grid (G).
template <typename T, typename G>
void Sample(const ReferenceArgs& args) {
  using W = std::common_type_t<T, G>;
  const absl::Span<const int64_t> extents = args.in[0].dims.subspan(2);
  std::vector<Axis<W>> axes;
  for (int64_t extent : extents) axes.emplace_back(SamplingOf(args.node), extent);
  const int64_t channels = args.in[0].dims[1], in_size = ElementsOf(extents);
  const int64_t out_size = ElementsOf(args.out[0].dims.subspan(2));
  const T* x = static_cast<const T*>(args.in[0].data);
  const G* grid = static_cast<const G*>(args.in[1].data);
  T* y = static_cast<T*>(args.out[0].data);
  args.threads.ParallelFor(
      args.in[0].dims[0] * out_size, GrainFor(16 * channels), [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          const Point<W> point = PointOf<W>(axes, extents, grid + i * axes.size());
          const int64_t image = i / out_size * channels;
          for (int64_t c = 0; c < channels; ++c) {
            W sum = 0;
            for (int p = 0; p < point.count; ++p)
              sum += point.weight[p] * x[(image + c) * in_size + point.offset[p]];
            y[(image + c) * out_size + i % out_size] = static_cast<T>(sum);
          }
        }
      });
}

absl::Status ReferenceGridSample(const ReferenceArgs& args) {
  const absl::Span<const int64_t> x = args.in[0].dims, grid = args.in[1].dims;
  Dims expected_grid(grid.begin(), grid.end());
  expected_grid.front() = x[0];
  expected_grid.back() = static_cast<int64_t>(x.size()) - 2;
  RETURN_IF_ERROR(ExpectDims("grid", grid, expected_grid));
  Dims expected = {x[0], x[1]};
  expected.insert(expected.end(), grid.begin() + 1, grid.end() - 1);
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, expected));
  if (args.out[0].elements() == 0) return absl::OkStatus();
  if (ElementsOf(x) == 0)
    return absl::InvalidArgumentError(absl::StrCat("X ", ToString(x), " has nothing to sample"));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    return DispatchFloat(args.in[1].dtype, [&](auto grid_type) {
      Sample<decltype(type), decltype(grid_type)>(args);
      return absl::OkStatus();
    });
  });
}

Support CheckGridSample(const Node& node) {
  const int rank = node.input(0).rank();
  if (rank < 3 || rank > 2 + kMaxRank)
    return Support::No(absl::StrCat("X has rank ", rank, ", 3 to ", 2 + kMaxRank, " are taken"));
  if (node.input(1).rank() != rank)
    return Support::No(absl::StrCat("grid has rank ", node.input(1).rank(), ", X has ", rank));
  const std::string mode = node.attrs().String("mode", "linear");
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    return Support::No(absl::StrCat("mode \"", mode, "\" is unknown"));
  const std::string padding = node.attrs().String("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return Support::No(absl::StrCat("padding_mode \"", padding, "\" is unknown"));
  const DType grid_dtype = node.input(1).dtype();
  if (kFloatTypes.Has(grid_dtype)) return Support::Yes();
  return Support::No(absl::StrCat("grid is ", NameOf(grid_dtype)));
}

Cost GridSampleCost(const Node& node) {
  int64_t taps = 1;
  const Mode mode = SamplingOf(node).mode;
  for (int a = 2; a < node.input(0).rank(); ++a)
    taps *= mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : kMaxTaps;
  constexpr int64_t kStepsOfTaps = 8;  // per point and axis, for all channels
  return {.us = ScalarUs(kStepsOfTaps * node.input(1).elements()),
          .flops = 2 * taps * node.output(0).elements(),
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef GridSampleOp() {
  return WidenedOp<ReferenceGridSample>({.check = CheckGridSample, .cost = GridSampleCost});
}

}  // namespace onnx_cudnn

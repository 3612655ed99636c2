#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"
#include "runtime/ops/window.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<Window> PoolWindow(const Node& node, absl::Span<const int64_t> x,
                                  absl::Span<const int64_t> y) {
  if (x.size() >= 2 && y.size() == x.size()) {
    RETURN_IF_ERROR(ExpectDims("output's batch and channels", y.subspan(0, 2), x.subspan(0, 2)));
  }
  return MakeWindow(node, x, node.attrs().Ints("kernel_shape"), y);
}

// y[o] = combine(y[o], x) over the inputs x in the window of o that are not padding. y is
// initialized with `start`.
template <typename T, typename Sum, typename Combine>
void PoolPlane(const Window& window, const T* x, Sum* y, Sum start, Combine&& combine) {
  const WindowAxis& w = window.w();
  for (int64_t row = 0; row < window.out_rows(); ++row, y += w.out) {
    std::fill_n(y, w.out, start);
    window.ForEachRow(row, [&](int64_t, int64_t in_row) {
      const T* in = x + in_row * w.in;
      for (int64_t kw = 0; kw < w.kernel; ++kw) {
        const int64_t first = w.First(kw), last = w.Last(kw);
        for (int64_t o = first; o < last; ++o) y[o] = combine(y[o], in[w.At(o, kw)]);
      }
    });
  }
}

// Calls f(plane) on the pool's threads for each image and channel.
template <typename F>
void ForEachPlane(const ReferenceArgs& args, const Window& window, F&& f) {
  const int64_t planes = args.in[0].dims[0] * args.in[0].dims[1];
  if (window.out_size() == 0) return;
  args.threads.ParallelFor(planes, GrainFor(window.out_size() * window.kernel_size()),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t plane = begin; plane < end; ++plane) f(plane);
                           });
}

template <typename T>
void MaxPlanes(const ReferenceArgs& args, const Window& window) {
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = static_cast<T*>(args.out[0].data);
  ForEachPlane(args, window, [&](int64_t plane) {
    PoolPlane(window, x + plane * window.in_size(), y + plane * window.out_size(), LowestOf<T>(),
              [](T best, T value) { return value > best ? value : best; });
  });
}

// The largest value of a window and its position, counted row by row (storage_order 0) or column by
// column (1).
template <typename T>
struct Best {
  T value = LowestOf<T>();
  int64_t index = -1;  // none if the window is entirely padding
};

template <typename T>
Best<T> BestOf(const Window& window, const T* x, int64_t out, bool column_major) {
  const WindowAxis &d = window.d(), &h = window.h(), &w = window.w();
  Best<T> best;
  for (int64_t k = 0; k < window.kernel_size(); ++k) {
    const int64_t in_d = d.At(out / (h.out * w.out), k / (h.kernel * w.kernel));
    const int64_t in_h = h.At(out / w.out % h.out, k / w.kernel % h.kernel);
    const int64_t in_w = w.At(out % w.out, k % w.kernel);
    if (!d.Inside(in_d) || !h.Inside(in_h) || !w.Inside(in_w)) continue;
    const T value = x[(in_d * h.in + in_h) * w.in + in_w];
    if (best.index >= 0 && !(value > best.value)) continue;
    best.value = value;
    best.index =
        column_major ? (in_w * h.in + in_h) * d.in + in_d : (in_d * h.in + in_h) * w.in + in_w;
  }
  return best;
}

template <typename T>
void MaxPlanesWithIndices(const ReferenceArgs& args, const Window& window) {
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = args.has_out(0) ? static_cast<T*>(args.out[0].data) : nullptr;
  int64_t* indices = static_cast<int64_t*>(args.out[1].data);
  const bool column_major = args.node.attrs().Int("storage_order", 0) != 0;
  ForEachPlane(args, window, [&](int64_t plane) {
    for (int64_t o = 0; o < window.out_size(); ++o) {
      const Best<T> best = BestOf(window, x + plane * window.in_size(), o, column_major);
      const int64_t at = plane * window.out_size() + o;
      if (y != nullptr) y[at] = best.value;
      indices[at] = best.index < 0 ? -1 : plane * window.in_size() + best.index;
    }
  });
}

absl::Status ReferenceMaxPool(const ReferenceArgs& args) {
  const bool with_indices = args.has_out(1);
  ASSIGN_OR_RETURN(const Window window,
                   PoolWindow(args.node, args.in[0].dims, args.out[args.has_out(0) ? 0 : 1].dims));
  if (with_indices && args.has_out(0)) {
    RETURN_IF_ERROR(ExpectDims("output 1", args.out[1].dims, args.out[0].dims));
  }
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    with_indices ? MaxPlanesWithIndices<T>(args, window) : MaxPlanes<T>(args, window);
    return absl::OkStatus();
  });
}

// How many positions of each output's window count along one axis: those inside the input, or
// inside the padded input if padding is included. (Windows of ceil_mode may extend beyond the
// padding.)
std::vector<int64_t> Counts(const WindowAxis& axis, bool include_pad) {
  const int64_t begin = include_pad ? -axis.pad_begin : 0,
                end = axis.in + (include_pad ? axis.pad_end : 0);
  std::vector<int64_t> counts(axis.out, 0);
  for (int64_t o = 0; o < axis.out; ++o) {
    for (int64_t k = 0; k < axis.kernel; ++k)
      counts[o] += axis.At(o, k) >= begin && axis.At(o, k) < end ? 1 : 0;
  }
  return counts;
}

template <typename T>
void AveragePlanes(const ReferenceArgs& args, const Window& window) {
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = static_cast<T*>(args.out[0].data);
  const bool include_pad = args.node.attrs().Int("count_include_pad", 0) != 0;
  const std::vector<int64_t> d = Counts(window.d(), include_pad),
                             h = Counts(window.h(), include_pad),
                             w = Counts(window.w(), include_pad);
  ForEachPlane(args, window, [&](int64_t plane) {
    T* out = y + plane * window.out_size();
    PoolPlane(window, x + plane * window.in_size(), out, T{0},
              [](T sum, T value) { return sum + value; });
    for (int64_t o = 0; o < window.out_size(); ++o) {
      const int64_t row = o / window.w().out;
      const int64_t count =
          d[row / window.h().out] * h[row % window.h().out] * w[o % window.w().out];
      out[o] = count == 0 ? T{0} : out[o] / static_cast<T>(count);
    }
  });
}

absl::Status ReferenceAveragePool(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Window window, PoolWindow(args.node, args.in[0].dims, args.out[0].dims));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    AveragePlanes<decltype(type)>(args, window);
    return absl::OkStatus();
  });
}

template <typename T>
void NormPlanes(const ReferenceArgs& args, const Window& window) {
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = static_cast<T*>(args.out[0].data);
  const T p = static_cast<T>(args.node.attrs().Int("p", 2));
  ForEachPlane(args, window, [&](int64_t plane) {
    T* out = y + plane * window.out_size();
    PoolPlane(window, x + plane * window.in_size(), out, T{0},
              [p](T sum, T value) { return sum + std::pow(std::abs(value), p); });
    for (int64_t o = 0; o < window.out_size(); ++o) out[o] = std::pow(out[o], 1 / p);
  });
}

absl::Status ReferenceLpPool(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Window window, PoolWindow(args.node, args.in[0].dims, args.out[0].dims));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormPlanes<decltype(type)>(args, window);
    return absl::OkStatus();
  });
}

Support CheckPool(const Node& node) {
  if (node.attrs().Ints("kernel_shape").empty()) return Support::No("kernel_shape is missing");
  return CheckWindow(node);
}

Support CheckLpPool(const Node& node) {
  if (node.attrs().Int("p", 2) < 1)
    return Support::No(absl::StrFormat("p is %d", node.attrs().Int("p", 2)));
  return CheckPool(node);
}

Cost PoolCost(const Node& node) {
  const Value& y = node.has_output(0) ? node.output(0) : node.output(1);
  const int64_t flops = ElementsOf(node.attrs().Ints("kernel_shape")) * y.elements();
  // Finds indices, computes powers.
  const bool scalar = node.has_output(1) || node.op() == "LpPool";
  return {.us = ScalarUs(scalar ? flops : 0), .flops = flops, .bytes = IoBytes(node)};
}

template <Reference kReference>
OpDef PoolOp(DTypeSet types, Support (*check)(const Node&), OpTraits traits) {
  traits.has_window = true;
  return WidenedOp<kReference>(
      {.types = types, .check = check, .cost = PoolCost, .traits = traits});
}

constexpr OpTraits kPicksOrMeans = {.keeps_range = true, .anchor = true};

}  // namespace

OpDef MaxPoolOp() {
  return PoolOp<ReferenceMaxPool>(kFloatTypes | DTypeSet{DType::kI8, DType::kU8}, CheckPool,
                                  kPicksOrMeans);
}
OpDef AveragePoolOp() {
  return PoolOp<ReferenceAveragePool>(kFloatTypes, CheckPool, kPicksOrMeans);
}
OpDef LpPoolOp() { return PoolOp<ReferenceLpPool>(kFloatTypes, CheckLpPool, {}); }

}  // namespace onnx_cudnn

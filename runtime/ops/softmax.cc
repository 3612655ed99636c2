#include <algorithm>
#include <cmath>

#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBlock = 64;  // adjacent columns processed together

// `width` adjacent columns of an [extent, stride] matrix.
template <typename T>
struct Columns {
  const T* x;
  T* y;
  int64_t extent, stride, width;

  void Largest(T* best) const {
    std::fill_n(best, width, LowestOf<T>());
    for (int64_t i = 0; i < extent; ++i) {
      for (int64_t j = 0; j < width; ++j) best[j] = std::max(best[j], x[i * stride + j]);
    }
  }
};

template <typename T>
void Softmax(const Columns<T>& c) {
  T best[kBlock];
  double sum[kBlock] = {};
  c.Largest(best);
  for (int64_t i = 0; i < c.extent; ++i) {
    for (int64_t j = 0; j < c.width; ++j) {
      const T e = std::exp(c.x[i * c.stride + j] - best[j]);
      c.y[i * c.stride + j] = e;
      sum[j] += e;
    }
  }
  for (int64_t j = 0; j < c.width; ++j) sum[j] = 1 / sum[j];
  for (int64_t i = 0; i < c.extent; ++i) {
    for (int64_t j = 0; j < c.width; ++j) c.y[i * c.stride + j] *= static_cast<T>(sum[j]);
  }
}

template <typename T>
void LogSoftmax(const Columns<T>& c) {
  T best[kBlock];
  double sum[kBlock] = {};
  c.Largest(best);
  for (int64_t i = 0; i < c.extent; ++i) {
    for (int64_t j = 0; j < c.width; ++j) sum[j] += std::exp(c.x[i * c.stride + j] - best[j]);
  }
  for (int64_t j = 0; j < c.width; ++j) sum[j] = std::log(sum[j]);
  for (int64_t i = 0; i < c.extent; ++i) {
    for (int64_t j = 0; j < c.width; ++j) {
      c.y[i * c.stride + j] = c.x[i * c.stride + j] - best[j] - static_cast<T>(sum[j]);
    }
  }
}

// One at the first largest element.
template <typename T>
void Hardmax(const Columns<T>& c) {
  for (int64_t j = 0; j < c.width; ++j) {
    int64_t best = 0;
    for (int64_t i = 0; i < c.extent; ++i) {
      c.y[i * c.stride + j] = T{0};
      if (c.x[i * c.stride + j] > c.x[best * c.stride + j]) best = i;
    }
    c.y[best * c.stride + j] = T{1};
  }
}

// Calls f for blocks of columns around the axis, on the pool's threads.
template <typename F>
absl::Status ForEachBlock(const ReferenceArgs& args, F&& f) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  if (ElementsOf(dims) == 0) return absl::OkStatus();
  const int64_t rank = static_cast<int64_t>(dims.size());
  const AxisView view = ViewAround(dims, NormalizedAxis(args.node.attrs().Int("axis", -1), rank));
  const int64_t blocks = (view.inner + kBlock - 1) / kBlock, width = std::min(kBlock, view.inner);
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.in[0].data);
    T* y = static_cast<T*>(args.out[0].data);
    args.threads.ParallelFor(view.outer * blocks, GrainFor(16 * view.extent * width),
                             [&](int64_t begin, int64_t end) {
                               for (int64_t b = begin; b < end; ++b) {
                                 const int64_t first = b % blocks * kBlock,
                                               at = b / blocks * view.extent * view.inner + first;
                                 f(Columns<T>{x + at, y + at, view.extent, view.inner,
                                              std::min(kBlock, view.inner - first)});
                               }
                             });
    return absl::OkStatus();
  });
}

absl::Status ReferenceSoftmax(const ReferenceArgs& args) {
  return ForEachBlock(args, [](const auto& columns) { Softmax(columns); });
}
absl::Status ReferenceLogSoftmax(const ReferenceArgs& args) {
  return ForEachBlock(args, [](const auto& columns) { LogSoftmax(columns); });
}
absl::Status ReferenceHardmax(const ReferenceArgs& args) {
  return ForEachBlock(args, [](const auto& columns) { Hardmax(columns); });
}

Support CheckSoftmax(const Node& node) {
  return CheckAxis(node.attrs().Int("axis", -1), node.input(0).rank());
}

Cost SoftmaxCost(const Node& node) {
  const int64_t elements = node.output(0).elements();
  return {.us = ScalarUs(elements), .flops = 5 * elements, .bytes = IoBytes(node)};
}

template <Reference kReference>
OpDef SoftmaxLike(OpTraits traits) {
  return WidenedOp<kReference>({.check = CheckSoftmax, .cost = SoftmaxCost, .traits = traits});
}

constexpr OpTraits kSoftmax = {.computes_in_f32 = true, .anchor = true, .axis = AxisRange::kDims};

}  // namespace

OpDef SoftmaxOp() { return SoftmaxLike<ReferenceSoftmax>(kSoftmax); }
OpDef LogSoftmaxOp() { return SoftmaxLike<ReferenceLogSoftmax>(kSoftmax); }
OpDef HardmaxOp() { return SoftmaxLike<ReferenceHardmax>({.axis = AxisRange::kDims}); }

}  // namespace onnx_cudnn

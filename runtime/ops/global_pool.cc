#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/sums.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// y[plane] = f(x of the plane, its elements) for each image and channel.
template <typename F>
absl::Status ReducePlanes(const ReferenceArgs& args, F&& f) {
  const absl::Span<const int64_t> x = args.in[0].dims;
  Dims expected(x.begin(), x.end());
  std::fill(expected.begin() + 2, expected.end(), 1);
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, expected));
  const int64_t planes = x[0] * x[1], size = ElementsOf(x.subspan(2));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    const T* in = static_cast<const T*>(args.in[0].data);
    T* out = static_cast<T*>(args.out[0].data);
    args.threads.ParallelFor(planes, GrainFor(size), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) out[p] = static_cast<T>(f(in + p * size, size));
    });
    return absl::OkStatus();
  });
}

absl::Status ReferenceGlobalAveragePool(const ReferenceArgs& args) {
  return ReducePlanes(
      args, [](const auto* x, int64_t n) { return SumOf(x, n) / static_cast<double>(n); });
}

absl::Status ReferenceGlobalMaxPool(const ReferenceArgs& args) {
  return ReducePlanes(args, [](const auto* x, int64_t n) {
    auto best = LowestOf<std::decay_t<decltype(*x)>>();
    for (int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
    return best;
  });
}

absl::Status ReferenceGlobalLpPool(const ReferenceArgs& args) {
  const double p = static_cast<double>(args.node.attrs().Int("p", 2));
  return ReducePlanes(args, [p](const auto* x, int64_t n) {
    return std::pow(SumOf(x, n, [p](double v) { return std::pow(std::abs(v), p); }), 1 / p);
  });
}

Support CheckGlobalPool(const Node& node) {
  const int rank = node.input(0).rank();
  return rank >= 2 ? Support::Yes()
                   : Support::No(absl::StrFormat("input has rank %d, expected 2 or more", rank));
}

Support CheckGlobalLpPool(const Node& node) {
  const int64_t p = node.attrs().Int("p", 2);
  return p >= 1 ? CheckGlobalPool(node) : Support::No(absl::StrFormat("p is %d", p));
}

Cost GlobalPoolCost(const Node& node) {
  return {.flops = node.input(0).elements(), .bytes = IoBytes(node)};
}

template <Reference kReference>
OpDef GlobalPool(Support (*check)(const Node&), OpTraits traits) {
  return WidenedOp<kReference>({.check = check, .cost = GlobalPoolCost, .traits = traits});
}

constexpr OpTraits kKeepsRange = {.keeps_range = true, .anchor = true};

}  // namespace

OpDef GlobalAveragePoolOp() {
  return GlobalPool<ReferenceGlobalAveragePool>(CheckGlobalPool, kKeepsRange);
}
OpDef GlobalMaxPoolOp() { return GlobalPool<ReferenceGlobalMaxPool>(CheckGlobalPool, kKeepsRange); }
OpDef GlobalLpPoolOp() { return GlobalPool<ReferenceGlobalLpPool>(CheckGlobalLpPool, {}); }

}  // namespace onnx_cudnn

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

template <typename T>
T Power(T x, T exponent) {
  if (exponent == T{0.75})
    return std::sqrt(x) * std::sqrt(std::sqrt(x));  // the value in most published networks
  return std::pow(x, exponent);
}

// y = x / (bias + alpha / size * Σ x²)^beta, summed over `size` channels around each.
template <typename T>
void NormalizeAcrossChannels(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const Attrs& attrs = args.node.attrs();
  const int64_t channels = dims[1], size = ElementsOf(dims.subspan(2)),
                window = attrs.Int("size", 1);
  const int64_t before = (window - 1) / 2, after = window - 1 - before;
  const T factor = T{attrs.Float("alpha", 1e-4f)} / static_cast<T>(window);
  const T beta = attrs.Float("beta", 0.75f), bias = attrs.Float("bias", 1);
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = static_cast<T*>(args.out[0].data);
  const int64_t work = size * std::min(window, channels);
  args.threads.ParallelFor(dims[0] * channels, GrainFor(work), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t c = plane % channels, first = plane - std::min(before, c),
                    last = plane + std::min(after, channels - 1 - c);
      T* out = y + plane * size;
      std::fill_n(out, size, T{0});
      for (int64_t p = first; p <= last; ++p) {
        for (int64_t i = 0; i < size; ++i) out[i] += x[p * size + i] * x[p * size + i];
      }
      for (int64_t i = 0; i < size; ++i)
        out[i] = x[plane * size + i] / Power(bias + factor * out[i], beta);
    }
  });
}

absl::Status ReferenceLRN(const ReferenceArgs& args) {
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, args.in[0].dims));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormalizeAcrossChannels<decltype(type)>(args);
    return absl::OkStatus();
  });
}

Support CheckLRN(const Node& node) {
  const int64_t size = node.attrs().Int("size", 0);
  if (size < 1) return Support::No(absl::StrFormat("size is %d", size));
  const int rank = node.input(0).rank();
  return rank >= 2 ? Support::Yes()
                   : Support::No(absl::StrFormat("input has rank %d, expected 2 or more", rank));
}

Cost LRNCost(const Node& node) {
  return {.flops = 2 * node.attrs().Int("size", 1) * node.output(0).elements(),
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef LRNOp() { return WidenedOp<ReferenceLRN>({.check = CheckLRN, .cost = LRNCost}); }

}  // namespace onnx_cudnn

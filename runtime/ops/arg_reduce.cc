#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

Dims OutputDims(absl::Span<const int64_t> dims, int64_t axis, bool keep) {
  Dims out(dims.begin(), dims.end());
  out[axis] = 1;
  if (!keep) out.erase(out.begin() + axis);
  return out;
}

// better(a, b): a is preferred to b. Among equals the first is chosen, or the last with
// select_last_index.
template <typename T, typename Better>
void FindAll(const ReferenceArgs& args, const AxisView& view, Better&& better) {
  const T* x = static_cast<const T*>(args.in[0].data);
  int64_t* y = static_cast<int64_t*>(args.out[0].data);
  const bool last = args.node.attrs().Int("select_last_index", 0) != 0;
  args.threads.ParallelFor(
      view.outer * view.inner, GrainFor(view.extent), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          const T* column = x + o / view.inner * view.extent * view.inner + o % view.inner;
          int64_t best = 0;
          for (int64_t i = 1; i < view.extent; ++i) {
            const T candidate = column[i * view.inner], found = column[best * view.inner];
            if (better(candidate, found) || (last && candidate == found)) best = i;
          }
          y[o] = best;
        }
      });
}

template <bool kLargest>
absl::Status ReferenceArg(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t axis =
      NormalizedAxis(args.node.attrs().Int("axis", 0), static_cast<int64_t>(dims.size()));
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims,
                             OutputDims(dims, axis, args.node.attrs().Int("keepdims", 1) != 0)));
  const AxisView view = ViewAround(dims, axis);
  if (view.outer * view.inner == 0) return absl::OkStatus();
  if (view.extent == 0)
    return absl::InvalidArgumentError(
        absl::StrFormat("axis %d of %s is empty", axis, ToString(dims)));
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    FindAll<T>(args, view, [](T a, T b) { return kLargest ? a > b : a < b; });
    return absl::OkStatus();
  });
}

Support CheckArg(const Node& node) {
  return CheckAxis(node.attrs().Int("axis", 0), node.input(0).rank());
}

Cost ArgCost(const Node& node) {
  return {.flops = node.input(0).elements(), .bytes = IoBytes(node)};
}

template <bool kLargest>
OpDef ArgOp() {
  return WidenedOp<ReferenceArg<kLargest>>({.types = kNumberTypes,
                                            .check = CheckArg,
                                            .cost = ArgCost,
                                            .traits = {.axis = AxisRange::kDims}});
}

}  // namespace

OpDef ArgMaxOp() { return ArgOp<true>(); }
OpDef ArgMinOp() { return ArgOp<false>(); }

}  // namespace onnx_cudnn

// CumSum and CumProd.
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// Running sums or products of one line of `n` elements with stride `step`, starting at its first
// element or (if `step` is negative) its last.
template <bool kProduct, typename E>
void JoinLine(const E* from, E* to, int64_t n, int64_t step, bool exclusive) {
  using Number = NumberOf<E>;
  using Wide = std::conditional_t<std::is_integral_v<Number>, uint64_t, double>;  // integers wrap
  Wide all = kProduct ? 1 : 0;
  for (int64_t i = 0; i < n; ++i, from += step, to += step) {
    const Wide next = static_cast<Wide>(Widen<Number>(*from));
    const Wide with = kProduct ? all * next : all + next;
    *to = Narrow<E>(exclusive ? all : with);
    all = with;
  }
}

template <bool kProduct>
absl::Status ReferenceCumulative(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, in.dims));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axis, AxesOf(args, 1, in.dims.size(), 1));
  if (in.elements() == 0) return absl::OkStatus();
  const AxisView view = ViewAround(in.dims, axis[0]);
  const bool exclusive = args.node.attrs().Int("exclusive", 0) != 0;
  const bool reverse = args.node.attrs().Int("reverse", 0) != 0;
  VisitElementType(in.dtype, [&](auto element) {
    using E = decltype(element);
    args.threads.ParallelFor(
        view.outer * view.inner, GrainFor(view.extent), [&](int64_t i, int64_t end) {
          for (; i < end; ++i) {
            const int64_t last = reverse ? view.extent - 1 : 0;
            const int64_t first =
                (i / view.inner * view.extent + last) * view.inner + i % view.inner;
            JoinLine<kProduct>(static_cast<const E*>(in.data) + first,
                               static_cast<E*>(args.out[0].data) + first, view.extent,
                               reverse ? -view.inner : view.inner, exclusive);
          }
        });
  });
  return absl::OkStatus();
}

// Neighbours along an axis other than the last are on different cache lines.
Cost CumulativeCost(const Node& node) {
  const int64_t elements = node.output(0).elements(), rank = node.output(0).rank();
  const bool strided = NormalizedAxis(ConstantOr(node, 1, -1), rank) != rank - 1;
  return {.us = ScalarUs(strided ? elements : 0), .flops = elements, .bytes = IoBytes(node)};
}

OpDef CumulativeOp(Reference reference) {
  return {.types = kFloatTypes | DTypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64},
          .reference = reference,
          .cost = CumulativeCost};
}

}  // namespace

OpDef CumSumOp() { return CumulativeOp(ReferenceCumulative<false>); }
OpDef CumProdOp() { return CumulativeOp(ReferenceCumulative<true>); }

}  // namespace onnx_cudnn

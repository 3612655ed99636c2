#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/window.h"

namespace onnx_cudnn {
namespace {

// The dims of the pooling's input from the attributes only; indices refer to them.
Dims PooledDims(const Node& node, absl::Span<const int64_t> x) {
  const size_t spatial = x.size() - 2;
  const std::vector<int64_t> kernel = node.attrs().Ints("kernel_shape");
  const std::vector<int64_t> strides =
      node.attrs().Ints("strides", std::vector<int64_t>(spatial, 1));
  const std::vector<int64_t> pads = node.attrs().Ints("pads", std::vector<int64_t>(2 * spatial, 0));
  Dims dims(x.begin(), x.end());
  for (size_t i = 0; i < spatial; ++i)
    dims[2 + i] = (x[2 + i] - 1) * strides[i] - pads[i] - pads[spatial + i] + kernel[i];
  return dims;
}

absl::Status ReferenceMaxUnpool(const ReferenceArgs& args) {
  const TensorRef &x = args.in[0], &indices = args.in[1];
  const MutableTensorRef& out = args.out[0];
  RETURN_IF_ERROR(ExpectDims("I", indices.dims, x.dims));
  const Dims dims = PooledDims(args.node, x.dims);
  if (args.has_in(2)) {
    RETURN_IF_ERROR(ExpectDims("output", out.dims, IntsOf(args.in[2])));
  } else {
    RETURN_IF_ERROR(ExpectDims("output", out.dims, dims));
  }
  for (size_t a = 0; a < dims.size(); ++a) {
    if (out.dims.size() == dims.size() && dims[a] >= 0 && dims[a] <= out.dims[a]) continue;
    return absl::InvalidArgumentError(absl::StrCat("the pooled tensor ",
                                                   ToString(absl::MakeConstSpan(dims)),
                                                   " does not fit into ", ToString(out.dims)));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> at, CheckedIndices(indices, ElementsOf(dims), 0));
  const std::vector<int64_t> strides = RowMajorStrides(out.dims);
  std::fill_n(static_cast<char*>(out.data), out.bytes(), 0);
  VisitElementSize(ElementBytes(x.dtype), [&](auto element) {
    using E = decltype(element);
    for (size_t i = 0; i < at.size(); ++i) {
      int64_t to = 0, rest = at[i];
      for (int64_t a = static_cast<int64_t>(dims.size()) - 1; a >= 0; rest /= dims[a--])
        to += rest % dims[a] * strides[a];
      static_cast<E*>(out.data)[to] = static_cast<const E*>(x.data)[i];
    }
  });
  return absl::OkStatus();
}

Support CheckMaxUnpool(const Node& node) {
  if (node.input(1).dtype() != DType::kI64) return Support::No("I is not i64");
  if (node.attrs().Ints("kernel_shape").empty()) return Support::No("kernel_shape is missing");
  return CheckWindow(node);
}

Cost MaxUnpoolCost(const Node& node) {
  const Value& x = node.input(0);
  return {.us = ScalarUs(x.elements() * x.rank()), .bytes = IoBytes(node)};
}

}  // namespace

OpDef MaxUnpoolOp() {
  return {.check = CheckMaxUnpool,
          .reference = ReferenceMaxUnpool,
          .cost = MaxUnpoolCost,
          .traits = {.has_window = true}};
}

}  // namespace onnx_cudnn

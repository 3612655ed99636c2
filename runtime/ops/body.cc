#include "runtime/ops/body.h"

#include "absl/strings/str_cat.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {

Support CheckBodyOps(const Graph& body, std::string_view name) {
  for (const Node* inner : body.TopologicalOrder()) {
    Support support = CheckOp(*inner);
    if (!support)
      return Support::No(absl::StrCat(name, ": ", Where(*inner), ": ", support.reason()));
  }
  return Support::Yes();
}

namespace {

bool IsStatic(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v != nullptr && !v->is_static()) return false;
    }
  }
  return true;
}

}  // namespace

Cost CostOfBody(const Graph& body) {
  Cost sum = {.calls = 0};
  for (const Node* inner : body.TopologicalOrder()) {
    const Cost cost = IsStatic(*inner) ? CostOf(*inner) : Cost{};
    sum.us += cost.us;
    sum.flops += cost.flops;
    sum.bytes += cost.bytes;
    sum.blas_flops += cost.blas_flops;
    sum.calls += cost.calls;
  }
  return sum;
}

HostTensor Borrowed(const TensorRef& tensor) {
  return HostTensor::Borrow(tensor.dtype, Dims(tensor.dims.begin(), tensor.dims.end()), tensor.data,
                            /*owner=*/nullptr);
}

}  // namespace onnx_cudnn

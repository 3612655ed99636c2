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

HostTensor Borrowed(const TensorRef& tensor) {
  return HostTensor::Borrow(tensor.dtype, Dims(tensor.dims.begin(), tensor.dims.end()), tensor.data,
                            /*owner=*/nullptr);
}

}  // namespace onnx_cudnn

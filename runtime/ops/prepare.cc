#include "runtime/ops/prepare.h"

#include "runtime/graph/ml_types.h"
#include "runtime/ops/ml/ensemble.h"

namespace onnx_cudnn {

absl::StatusOr<std::shared_ptr<const void>> Prepare(const Node& node) {
  if (node.domain() == kMlDomain && node.op().starts_with("TreeEnsemble"))
    return PrepareEnsemble(node);
  return nullptr;
}

}  // namespace onnx_cudnn

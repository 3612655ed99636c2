#include "runtime/cudnn/cuda/cudnn_graph.h"

namespace onnx_cudnn {

std::vector<int> OperandsOf(const CudnnGraph& graph) {
  std::vector<int> operands;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].kind == CudnnTensor::Kind::kVirtual) continue;
    operands.push_back(static_cast<int>(i));
  }
  return operands;
}

}  // namespace onnx_cudnn

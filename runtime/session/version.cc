#include "onnx_cudnn/version.h"

#include "build_facts.h"
#include "runtime/graph/graph.h"
#include "runtime/import/onnx_loader.h"

namespace onnx_cudnn {

BuildFacts Version() {
  return {.version = ONNX_CUDNN_BUILD_VERSION,
          .commit = ONNX_CUDNN_BUILD_COMMIT,
          .compiler = ONNX_CUDNN_BUILD_COMPILER,
          .cuda = ONNX_CUDNN_BUILD_CUDA,
          .cuda_architectures = ONNX_CUDNN_BUILD_CUDA_ARCHITECTURES,
          .onnx = ONNX_CUDNN_BUILD_ONNX,
          .cudnn_frontend = ONNX_CUDNN_BUILD_CUDNN_FRONTEND,
          .oldest_opset = kOldestOpset,
          .newest_opset = kNewestOpset};
}

}  // namespace onnx_cudnn

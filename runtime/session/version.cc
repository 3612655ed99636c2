#include "onnx_cudnn/version.h"

#include "runtime/graph/graph.h"
#include "runtime/import/onnx_loader.h"

namespace onnx_cudnn {

BuildFacts Version() {
  return {
#include "build_facts.inc"
      .oldest_opset = kOldestOpset, .newest_opset = kNewestOpset};
}

}  // namespace onnx_cudnn

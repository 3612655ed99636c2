// What this build is made of.
#pragma once

#include <string>

#include "onnx_cudnn/export.h"

namespace onnx_cudnn {

struct BuildFacts {
  std::string version;             // "0.1.0"
  std::string commit;              // "b9f650a4c1d2" when the build was configured; empty: unknown
  std::string compiler;            // "GNU 12.2.0"
  std::string cuda;                // version of nvcc, "13.0.88"; empty: built without CUDA
  std::string cuda_architectures;  // of our kernels: "80 90a"; empty: built without CUDA
  std::string onnx;                // "1.23.2"
  std::string cudnn_frontend;      // "1.32.0"; empty: built without CUDA
  // Opsets of ONNX's default domain that models may use.
  int oldest_opset = 0, newest_opset = 0;
};

ONNX_CUDNN_API BuildFacts Version();

}  // namespace onnx_cudnn

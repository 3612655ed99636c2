#include "runtime/gemm/gemm_rules.h"

#include "runtime/gemm/patterns.h"

namespace onnx_cudnn {

std::unique_ptr<Engine> MakeGemmRules() {
  PatternList patterns;
  patterns.push_back(MatrixPattern());
  patterns.push_back(PointConvolutionPattern());
  return std::make_unique<PatternEngine>("gemm", std::move(patterns));
}

}  // namespace onnx_cudnn

#include "runtime/gemm/gemm_rules.h"

#include "runtime/gemm/patterns.h"

namespace onnx_cudnn {

PatternList GemmPatterns() {
  PatternList patterns;
  patterns.push_back(MatrixPattern());
  patterns.push_back(PointConvolutionPattern());
  return patterns;
}

std::unique_ptr<Engine> MakeGemmRules() {
  return std::make_unique<PatternEngine>("gemm", GemmPatterns());
}

}  // namespace onnx_cudnn

#include "runtime/cudnn/cudnn_rules.h"

#include "runtime/cudnn/patterns.h"

namespace onnx_cudnn {

PatternList CudnnPatterns() {
  PatternList patterns;
  patterns.push_back(ConvolutionPattern());
  patterns.push_back(ProductPattern());
  patterns.push_back(AttentionPattern());
  patterns.push_back(PoolingPattern());
  patterns.push_back(NormalizationPattern());
  patterns.push_back(ReductionPattern());
  patterns.push_back(PointwisePattern());
  return patterns;
}

std::unique_ptr<Engine> MakeCudnnRules() {
  return std::make_unique<PatternEngine>("cudnn", CudnnPatterns());
}

}  // namespace onnx_cudnn

#include "runtime/cudnn/cudnn_rules.h"

#include "runtime/cudnn/patterns.h"

namespace onnx_cudnn {

PatternList CudnnPatterns() {
  PatternList patterns;
  for (const auto make : {ConvolutionPattern, ProductPattern, AttentionPattern, PoolingPattern,
                          NormalizationPattern, ReductionPattern, PointwisePattern}) {
    patterns.push_back(make());
  }
  return patterns;
}

std::unique_ptr<Engine> MakeCudnnRules() {
  return std::make_unique<PatternEngine>("cudnn", CudnnPatterns());
}

}  // namespace onnx_cudnn

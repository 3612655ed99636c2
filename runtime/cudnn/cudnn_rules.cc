#include "runtime/cudnn/cudnn_rules.h"

#include "runtime/cudnn/patterns.h"

namespace onnx_cudnn {

std::unique_ptr<Engine> MakeCudnnRules() {
  PatternList patterns;
  patterns.push_back(ConvolutionPattern());
  patterns.push_back(ProductPattern());
  patterns.push_back(PoolingPattern());
  patterns.push_back(NormalizationPattern());
  patterns.push_back(ReductionPattern());
  patterns.push_back(PointwisePattern());
  return std::make_unique<PatternEngine>("cudnn", std::move(patterns));
}

}  // namespace onnx_cudnn

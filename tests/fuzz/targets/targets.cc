#include "tests/fuzz/targets.h"

#include "tests/fuzz/corpora.h"

namespace onnx_cudnn {

absl::Span<const FuzzTarget> FuzzTargets() {
  static constexpr FuzzTarget kTargets[] = {
      {"load", FuzzLoad, ModelCorpus},     {"external", FuzzExternalData, ExternalDataCorpus},
      {"pins", FuzzPins, PinCorpus},       {"plan_cache", FuzzPlanCache, PlanCacheCorpus},
      {"arrays", FuzzArrays, ArrayCorpus}, {"images", FuzzImages, ImageCorpus},
      {"graphs", FuzzGraphs, GraphCorpus},
  };
  return kTargets;
}

}  // namespace onnx_cudnn

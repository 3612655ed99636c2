// --explain of a model that runs as one Program: what a Session reads and pads before it builds it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "passes/explain/explanation.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

// What a Session with shape buckets builds for inputs of certain dims.
struct ModelExplanation {
  Explanation program;
  std::map<std::string, Dims> padded;  // of the inputs whose dims are padded
  std::string note;                    // why dims that have buckets are not padded; empty: none
};

// Explains the Program for inputs of `dims` (by name).
//   shape_buckets  as SessionOptions::shape_buckets
//   build          as for Explain
//   errors         InvalidArgument: a name of `shape_buckets` that no dim has; those of Explain
absl::StatusOr<ModelExplanation> ExplainModel(const Graph& graph,
                                              const std::vector<ValueInfo>& infos,
                                              const std::map<std::string, Dims, std::less<>>& dims,
                                              const std::vector<std::string>& shape_buckets,
                                              const Target& target, const BuildOptions& build);

}  // namespace onnx_cudnn

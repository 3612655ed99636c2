#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether the outputs of a SubModel are read by the caller of the Run, or by further Programs.
enum class OutputReader : uint8_t { kCaller, kPrograms };

// A Graph that is bound, cut and built on its own for each set of input types: the model, the rest
// behind a Segment, the body of a Loop, a branch of an If.
struct SubModel {
  // Infers types. Errors as for InferShapes.
  static absl::StatusOr<std::shared_ptr<const SubModel>> Create(Graph graph, OutputReader reader);

  int64_t id = 0;  // unique in the process
  Graph graph;
  OutputReader reader = OutputReader::kPrograms;
  std::vector<int> deciding;  // inputs whose elements decide shapes, if they are few
};

}  // namespace onnx_cudnn

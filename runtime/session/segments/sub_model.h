#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether the outputs of a SubModel are read by the caller of the Run, or by further Programs.
enum class OutputReader : uint8_t { kCaller, kPrograms };

// Whether open dims of its inputs are sizes that a Run finds, which buckets may pad.
enum class OpenDims : uint8_t { kExact, kFound };

// A Graph that is bound, cut and built on its own for each set of input types: the model, the rest
// behind a Segment, the body of a Loop, a branch of an If.
struct SubModel {
  // Infers types. Errors as for InferShapes.
  static absl::StatusOr<std::shared_ptr<const SubModel>> Create(Graph graph, OutputReader reader,
                                                                OpenDims dims = OpenDims::kExact);

  int64_t id = 0;  // unique in the process
  Graph graph;
  OutputReader reader = OutputReader::kPrograms;
  // Of the inputs: found sizes have names, like at[1] for axis 1 of "at". Empty: there are none.
  std::vector<Type> found;
  std::vector<int> deciding;  // inputs whose elements decide shapes, if they are few
};

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The cuDNN graph of a Candidate that the rules (runtime/cudnn/cudnn_rules.h) take. Needs no GPU
// and no cuDNN. Constants of one element are numbers of the graph, as they are in signatures.
//   errors  Unimplemented: there is no such graph, a refusal
absl::StatusOr<CudnnGraph> Lower(const Candidate& candidate);

}  // namespace onnx_cudnn

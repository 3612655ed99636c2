#pragma once

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The cuDNN graph of a Candidate that the rules (runtime/cudnn/cudnn_rules.h) accept. Needs neither
// a GPU nor cuDNN. Constants of one element become numbers of the graph, as in signatures.
//   errors  Unimplemented: there is no such graph (a refusal)
absl::StatusOr<CudnnGraph> Lower(const Candidate& candidate);

}  // namespace onnx_cudnn

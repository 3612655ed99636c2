#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "passes/explain/explanation.h"

namespace onnx_cudnn {

// For the programs, which show more of a Session than its users see.
struct SessionExplainer {
  // Explains the Program that runs these inputs, by building it again with the same Partitions.
  //   errors  those of Run; Unimplemented: the model runs in segments, or padded
  static absl::StatusOr<Explanation> Explain(const Session& session,
                                             const std::vector<NamedView>& inputs);
};

}  // namespace onnx_cudnn

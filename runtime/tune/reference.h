#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// What the Nodes of a Candidate write for `inputs` (row-major, parallel to its own, in memory of
// `device` in Space::kHost), one Node after the other: by the Target's Engine `kernel` over
// row-major operands on `device`, by the op's reference on the host where that takes none.
//   returns  row-major, parallel to the Candidate's outputs
//   errors   what a Node says of these inputs
absl::StatusOr<std::vector<HostTensor>> RunNodeByNode(const Candidate& candidate,
                                                      absl::Span<const HostTensor> inputs,
                                                      const Target& target, Device& device,
                                                      ConstantStore& constants);

}  // namespace onnx_cudnn

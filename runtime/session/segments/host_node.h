#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Computes a Node on the host for these inputs, which may be strings; its output shapes may depend
// on them.
//   inputs   parallel to the Node's; nullopt: absent
//   returns  its outputs, undefined where it has none
//   errors   InvalidArgument, Unimplemented: the op, or its references, refuse them
absl::StatusOr<std::vector<HostTensor>> RunOnHost(
    const Node& node, absl::Span<const std::optional<HostTensor>> inputs);
// The same for a Node made for this.
absl::StatusOr<std::vector<HostTensor>> RunOnHost(NodeSpec spec,
                                                  absl::Span<const HostTensor> inputs);

}  // namespace onnx_cudnn

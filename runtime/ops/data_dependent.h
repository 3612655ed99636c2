// What ops whose output shapes depend on elements of their inputs compute, on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {

// The only output of a Node for these inputs.
//   node    gives the attributes; CheckOp accepts it
//   inputs  parallel to the Node's; undefined: absent
//   errors  InvalidArgument: values that the op does not accept
using ComputeDataDependent = absl::StatusOr<HostTensor> (*)(const Node& node,
                                                            absl::Span<const HostTensor> inputs);
absl::StatusOr<HostTensor> ComputeCompress(const Node& node, absl::Span<const HostTensor> inputs);
absl::StatusOr<HostTensor> ComputeNonMaxSuppression(const Node& node,
                                                    absl::Span<const HostTensor> inputs);
absl::StatusOr<HostTensor> ComputeNonZero(const Node& node, absl::Span<const HostTensor> inputs);

// Y, indices, inverse_indices and counts of a Unique for this input, whether it has them or not.
std::vector<HostTensor> ComputeUnique(const Node& node, const HostTensor& x);
// The slices among which a Unique finds those that differ: x[outer, extent, inner].
AxisView SlicesOfUnique(const Node& node);

// The same for a Node whose inputs are constants: an OpDef::evaluate.
template <ComputeDataDependent compute>
absl::StatusOr<std::vector<HostTensor>> EvaluateDataDependent(const Node& node) {
  std::vector<HostTensor> inputs;
  for (const Value* v : node.inputs()) {
    inputs.push_back(v == nullptr ? HostTensor() : v->constant());
  }
  absl::StatusOr<HostTensor> output = compute(node, inputs);
  if (!output.ok()) return output.status();
  return std::vector<HostTensor>{*std::move(output)};
}

// The most elements that the output has, from the inputs' types, which are static, and from
// constants; nullopt: they tell no bound, or contradict the op.
std::optional<int64_t> BoundOfCompress(const Node& node);
std::optional<int64_t> BoundOfNonMaxSuppression(const Node& node);
std::optional<int64_t> BoundOfNonZero(const Node& node);
std::optional<int64_t> BoundOfUnique(const Node& node);

// Checks of the attributes and types.
Support CheckCompress(const Node& node);
Support CheckNonMaxSuppression(const Node& node);
Support CheckUnique(const Node& node);

}  // namespace onnx_cudnn

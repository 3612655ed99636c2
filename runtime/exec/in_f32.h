#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether one of `nodes` reads or writes f16 or bf16.
bool HasShortFloats(absl::Span<const Node* const> nodes);

// `tensor` with f16 and bf16 elements as f32; others are left as they are.
HostTensor InF32(const HostTensor& tensor);

// What the references of `nodes` compute if every f16 and bf16 Value is f32: the outputs of
// BoundaryOf(nodes), with f32 elements for these types.
//   sources  the inputs of the boundary, then its constants
//   errors   Unimplemented: a Node has bodies; those of the references, where an attribute demands
//            a type
absl::StatusOr<std::vector<HostTensor>> EvaluateInF32(absl::Span<const Node* const> nodes,
                                                      absl::Span<const HostTensor> sources);

}  // namespace onnx_cudnn

// Ops of other domains that are replaced by Nodes of ONNX's own: ai.onnx.preview,
// ai.onnx.preview.training, com.microsoft, and what onnxruntime adds to ONNX's own domain.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Domain and name of each, sorted.
std::vector<std::pair<std::string_view, std::string_view>> ContribOps();

// Whether AppendContrib takes an op of ONNX's own domain that no engine runs: its Nodes join others
// sooner than those of ONNX's function, which is expanded when shapes are bound.
bool IsReplaced(const NodeSpec& spec);
// Whether AppendContrib takes the op; not if a user's library defines it (graph/custom_op.h).
bool IsContrib(std::string_view domain, std::string_view op);
// Whether it takes the op in this opset of its domain, and if not, why.
Support CheckContrib(std::string_view domain, std::string_view op, int opset);

// Appends the Nodes that compute what `spec` describes, in the newest opset, and infers them.
//   spec     IsContrib(spec.domain, spec.op) or IsReplaced(spec); its bodies are closed
//   returns  the Values of spec.outputs, nullptr where one is absent ("")
//   errors   InvalidArgument: an input or attribute is missing or does not fit. Unimplemented: an
//            attribute, input or output that is not part of the expansion, or a rank or extent
//            that is not known; names op, opset and type
absl::StatusOr<std::vector<Value*>> AppendContrib(Graph& graph, ShapeInference& inference,
                                                  NodeSpec spec);

}  // namespace onnx_cudnn

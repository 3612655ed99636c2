// What BindShapes, CutGraph and PadLengths share.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/build_program.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/node_refusal.h"

namespace onnx_cudnn {

// A copy of `graph` whose inputs have these types: shapes are inferred and constants folded as far
// as possible.
//   input_types  parallel to the inputs
//   refusals     receives the Nodes that inference refuses, whose types stay open
//   errors       InvalidArgument: a type contradicts the model's
absl::StatusOr<Graph> BindPartly(const Graph& graph, absl::Span<const Type> input_types,
                                 const BuildOptions& options, std::vector<NodeRefusal>& refusals);

// Forgets the shapes of all Values but the inputs, in bodies of those too: inner shapes in a file
// may be valid for other input dims only, so they are inferred again.
void ForgetShapes(Graph& graph);

// Why `value`, which `node` writes, has no static type.
absl::Status NotStatic(Graph& graph, Node& node, const Value& value);

}  // namespace onnx_cudnn

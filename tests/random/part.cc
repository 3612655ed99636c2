#include "tests/random/part.h"

#include <set>

namespace onnx_cudnn {
namespace {

// Whether `value` has a reader outside `nodes`, or no reader.
bool LeavesPart(const Value& value, const std::set<const Node*>& nodes) {
  if (value.is_graph_output() || value.uses().empty()) return true;
  for (const Use& use : value.uses()) {
    if (!nodes.contains(use.node)) return true;
  }
  return false;
}

}  // namespace

Part TakePart(absl::Span<const Node* const> nodes) {
  Part part;
  const Boundary boundary = BoundaryOf(nodes);
  part.inputs = boundary.inputs;
  for (const Value* v : part.inputs) {
    part.copies[v] = &part.graph.AddInput(v->name(), v->type());
  }
  CopyNodes(nodes, part.graph, part.copies);
  const std::set<const Node*> members(nodes.begin(), nodes.end());
  for (const Node* node : nodes) {
    for (const Value* v : node->outputs()) {
      if (v != nullptr && LeavesPart(*v, members)) {
        part.graph.AddOutput(v->name(), *part.copies.at(v));
      }
    }
  }
  return part;
}

std::vector<HostTensor> TensorsOf(absl::Span<const Value* const> values, const Tensors& tensors) {
  std::vector<HostTensor> found;
  for (const Value* v : values) found.push_back(tensors.at(v));
  return found;
}

}  // namespace onnx_cudnn

#pragma once

#include "passes/partition/partitioners.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The whole of a static Graph, inputs and outputs row-major on the device.
class WholeStretch {
 public:
  WholeStretch(const Graph& graph, const Target& target)
      : stretch_{.graph = graph, .target = target, .refused = none_} {
    for (const Node* node : graph.TopologicalOrder()) stretch_.nodes.push_back(node);
    for (const Value* v : graph.inputs()) stretch_.produced.emplace(v, Plain(*v));
    for (const GraphOutput& o : graph.outputs()) {
      stretch_.demanded.emplace(o.value, Plain(*o.value));
    }
  }
  const Stretch& operator*() const { return stretch_; }

 private:
  static Placement Plain(const Value& value) { return {.format = Format::RowMajor(value.dims())}; }

  const Refusals none_;
  Stretch stretch_;
};

}  // namespace onnx_cudnn

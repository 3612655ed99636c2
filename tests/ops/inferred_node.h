#pragma once

#include "absl/log/check.h"
#include "runtime/graph/infer.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {

// The Node of an OpRun, with constant inputs and inferred output types.
struct InferredNode {
  Graph graph;
  Node* node;

  explicit InferredNode(const OpRun& run) {
    std::vector<Value*> inputs;
    for (const HostTensor& t : run.inputs)
      inputs.push_back(t.defined() ? &graph.AddConstant(t) : nullptr);
    node = &graph.AddNode({.op = run.op,
                           .inputs = inputs,
                           .attrs = run.attrs,
                           .outputs = std::vector<std::string>(run.outputs, "*"),
                           .domain = run.domain,
                           .opset = run.opset});
    CHECK_OK(InferShapes(graph)) << run.op;
  }
};

}  // namespace onnx_cudnn

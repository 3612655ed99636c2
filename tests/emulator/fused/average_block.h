// Graphs that start with a GlobalAveragePool and that one kernel runs completely.
#pragma once

#include <string>
#include <vector>

#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {

class AverageBlockTest : public KernelsTest {
 protected:
  // Compares the result of the Candidate of all Nodes for `numbers` with the reference.
  std::string Compare(CompileKernel compile, const std::vector<double>& numbers, double tolerance) {
    const std::vector<Node*> order = graph_.TopologicalOrder();
    graph_.AddOutput("y", *order.back()->outputs()[0]);
    const Unit unit = UnitOf({order.begin(), order.end()});
    for (const Candidate& candidate : At(graph_, "GlobalAveragePool").candidates) {
      if (candidate.nodes != unit.nodes) continue;
      const Value& x = *unit.boundary.inputs[0];
      return emulator::CompareWithReference(compile({unit, candidate, target_, ""}), candidate,
                                            {TensorOf(x.dtype(), x.dims(), numbers)}, tolerance);
    }
    return "nothing is proposed for all Nodes";
  }

  Graph graph_;
};

}  // namespace onnx_cudnn

// Candidates of one kernel as launches in the emulator.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {

class CandidateCodeTest : public KernelsTest {
 protected:
  // Of Candidates of at least that many Nodes.
  CandidateCodeTest(std::string_view kernel, size_t least_nodes)
      : kernel_(kernel), least_nodes_(least_nodes) {}

  // Runs every Candidate at the first `op` whose inputs are all the Graph's; the largest has
  // `nodes` Nodes.
  void ExpectRunsAt(std::string_view op, const Graph& graph, size_t nodes, double tolerance) {
    size_t largest = 0;
    for (const Candidate& candidate : At(graph, op).candidates) {
      const std::vector<const Value*> values = BoundaryOf(candidate.nodes).inputs;
      const bool has_all = std::all_of(values.begin(), values.end(),
                                       [](const Value* v) { return v->is_graph_input(); });
      if (!has_all || candidate.nodes.size() < least_nodes_) continue;
      std::vector<HostTensor> inputs;
      for (const Value* v : values) {
        const auto seed = static_cast<uint32_t>(v->name()[0]);
        inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
      }
      const auto code = CompileVariant(candidate, {.text = kernel_}, compiled_for_);
      ASSERT_TRUE(code.ok()) << code.status() << " " << Describe(candidate);
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, inputs, tolerance), "")
          << Describe(candidate);
      largest = std::max(largest, candidate.nodes.size());
    }
    EXPECT_EQ(largest, nodes);
  }

  Target compiled_for_ = target_;

 private:
  const std::string kernel_;
  const size_t least_nodes_;
};

}  // namespace onnx_cudnn

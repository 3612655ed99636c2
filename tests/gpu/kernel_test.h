// Our own kernels on the GPU over tensors that are too large for case rows.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <vector>

#include "tests/gpu/check_candidate.h"
#include "tests/gpu/gpu_test.h"
#include "tests/ops/run_op.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {

class KernelTest : public GpuTest {
 protected:
  // Every Candidate around the first `op` that `takes` agrees with the reference, which takes
  // seconds; one at least.
  void CheckKernels(const Graph& graph, std::string_view op,
                    const std::function<bool(const Engine&, const Candidate&)>& takes) {
    std::vector<HostTensor> inputs;
    for (const Value* v : graph.inputs()) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
    }
    int ran = 0;
    for (const Engine* engine : target().engines) {
      if (engine->name() != "kernel") continue;
      for (const Candidate& candidate : ProposedBy(*engine, graph, FindNode(graph, op), target())) {
        if (!takes(*engine, candidate)) continue;
        const absl::StatusOr<CandidateResult> result = CheckCandidate({.candidate = candidate,
                                                                       .target = target(),
                                                                       .device = device(),
                                                                       .constants = constants()},
                                                                      inputs);
        ASSERT_TRUE(result.ok()) << result.status();
        for (const std::string& wrong : result->wrong) ADD_FAILURE() << wrong;
        ran += result->ran;
      }
    }
    EXPECT_GT(ran, 0);
  }
};

}  // namespace onnx_cudnn

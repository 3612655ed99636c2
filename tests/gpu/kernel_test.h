// Our own kernels on the GPU, on tensors that are too large for case rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/kernels/common/kernel.h"
#include "tests/gpu/check_candidate.h"
#include "tests/gpu/gpu_test.h"
#include "tests/ops/run_op.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {

class KernelTest : public GpuTest {
 protected:
  // Skips on a GPU, and in a build, without what the kernel under test requires.
  explicit KernelTest(const Capability& needs = {}) : needs_(needs) {}
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (const Support support = CheckCapability(needs_, target().info); !support)
      GTEST_SKIP() << support.reason();
  }

  // The GPU's Target with TF32 products allowed.
  Target Tf32Target() const {
    Target target = this->target();
    target.numerics.tf32 = true;
    return target;
  }

  // An extent; a short one in emulation, which proves the test's graphs and no kernel.
  static int ShortIfEmulated(int extent) { return IsEmulated() ? std::min(extent, 256) : extent; }

  // Our Candidates around the first `op`.
  static std::vector<Candidate> Around(const Graph& graph, std::string_view op,
                                       const Target& target) {
    for (const Engine* engine : target.engines) {
      if (engine->name() != "kernel") continue;
      return ProposedBy(*engine, graph, FindNode(graph, op), target).candidates;
    }
    return {};
  }
  // The Candidates at all Nodes.
  static std::vector<Candidate> OfAllNodes(const Graph& graph, std::string_view op,
                                           const Target& target) {
    std::vector<Candidate> found = Around(graph, op, target);
    std::erase_if(found, [&](const Candidate& candidate) {
      return candidate.nodes.size() != graph.TopologicalOrder().size();
    });
    return found;
  }

  // Expects each to agree with the reference, which takes seconds. Returns how many Variants ran.
  int CheckAll(const Graph& graph, const std::vector<Candidate>& candidates, const Target& target) {
    std::vector<HostTensor> inputs;
    for (const Value* v : graph.inputs()) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
    }
    int ran = 0;
    for (const Candidate& candidate : candidates) {
      const absl::StatusOr<CandidateResult> result = CheckCandidate(
          {.candidate = candidate, .target = target, .device = device(), .constants = constants()},
          inputs);
      EXPECT_TRUE(result.ok()) << result.status();
      if (!result.ok()) continue;
      for (const std::string& wrong : result->wrong) ADD_FAILURE() << wrong;
      ran += result->ran;
    }
    return ran;
  }

 private:
  Capability needs_;
};

}  // namespace onnx_cudnn

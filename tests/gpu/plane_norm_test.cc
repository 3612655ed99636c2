// Planes of several images of which L2 holds but some: blocks that take moments and blocks that
// wait for them run side by side.
#include "tests/gpu/check_candidate.h"
#include "tests/gpu/gpu_test.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

class PlaneNormTest : public GpuTest {
 protected:
  // Every Candidate of our kernels against the reference, which takes seconds.
  void Check(const std::string& text, const std::string& op) {
    if (IsEmulated()) GTEST_SKIP() << "is about blocks that run at the same time";
    const Graph graph = GraphFromText(text);
    std::vector<HostTensor> inputs;
    for (const Value* v : graph.inputs()) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
    }
    int ran = 0;
    for (const Engine* engine : target().engines) {
      if (engine->name() != "kernel") continue;
      for (const Candidate& candidate : ProposedBy(*engine, graph, FindNode(graph, op), target())) {
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

TEST_F(PlaneNormTest, NormalizesImagesBeyondL2) {
  Check(
      "g (float16[16,64,128,128] x, float16[64] w, float16[64] b) => (float16[16,64,128,128] y) "
      "{ y = InstanceNormalization(x, w, b) }",
      "InstanceNormalization");
}

TEST_F(PlaneNormTest, NormalizesGroupsOfChannelsBeyondL2) {  // of which some blocks have no column
  Check(
      "g (float[12,72,96,96] x, float[72] w, float[72] b) => (float[12,72,96,96] y) "
      "{ y = GroupNormalization<num_groups = 9>(x, w, b) }",
      "GroupNormalization");
}

TEST_F(PlaneNormTest, NormalizesImagesOfManyParts) {
  Check(
      "g (float16[2,8,1024,1024] x, float16[8] w, float16[8] b) => (float16[2,8,1024,1024] y) "
      "{ y = InstanceNormalization(x, w, b) }",
      "InstanceNormalization");
}

TEST_F(PlaneNormTest, JoinsAllImages) {  // whose parts would be too many, were they small
  Check(
      "g (float16[32,40,96,96] x) => (float16[32,40,96,96] y) "
      "{ y = MeanVarianceNormalization(x) }",
      "MeanVarianceNormalization");
}

}  // namespace
}  // namespace onnx_cudnn

// Planes of several images, of which only some fit L2: blocks that compute moments and blocks that
// wait for them run in parallel.
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class PlaneNormTest : public KernelTest {
 protected:
  void Check(const std::string& text, const std::string& op) {
    if (IsEmulated()) GTEST_SKIP() << "is about blocks that run at the same time";
    const Graph graph = GraphFromText(text);
    EXPECT_GT(CheckAll(graph, Around(graph, op, target()), target()), 0);
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

TEST_F(PlaneNormTest, NormalizesRowsOfABlockOf1024Threads) {
  Check(
      "g (float[8,64,128,128] x, float[64] w, float[64] b) => (float[8,64,128,128] y) "
      "{ y = GroupNormalization<num_groups = 32>(x, w, b) }",
      "GroupNormalization");
}

TEST_F(PlaneNormTest, NormalizesImagesOfManyParts) {
  Check(
      "g (float16[2,8,1024,1024] x, float16[8] w, float16[8] b) => (float16[2,8,1024,1024] y) "
      "{ y = InstanceNormalization(x, w, b) }",
      "InstanceNormalization");
}

TEST_F(PlaneNormTest, JoinsAllImages) {  // small parts would be too many
  Check(
      "g (float16[32,40,96,96] x) => (float16[32,40,96,96] y) "
      "{ y = MeanVarianceNormalization(x) }",
      "MeanVarianceNormalization");
}

}  // namespace
}  // namespace onnx_cudnn

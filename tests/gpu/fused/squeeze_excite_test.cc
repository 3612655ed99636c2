// The kernel squeeze_excite, with the blocks of a cluster running in parallel.
#include "absl/strings/str_format.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

class SqueezeExciteTest : public KernelTest {
 protected:
  SqueezeExciteTest() : KernelTest(kClusters) {}

  // Runs all Nodes as one launch, with and without the Mul of an image of up to 2^18 elements.
  void Check(int64_t images, int64_t channels, int64_t height, int64_t width, int64_t hidden,
             const std::string& dtype = "float16") {
    for (const bool multiplies : {false, true}) {
      if (multiplies && channels * height * width > 1 << 18) continue;
      const std::string text = absl::StrFormat(
          "g (%s[%d,%d,%d,%d] x, %s[%d,%d,1,1] w, %s[%d] wb, %s[%d,%d,1,1] wc, %s[%d] wd) => (y) "
          "{ p = GlobalAveragePool(x) s = Conv(p, w, wb) r = Relu(s) t = Conv(r, wc, wd) %s }",
          dtype, images, channels, height, width, dtype, hidden, channels, dtype, hidden, dtype,
          channels, hidden, dtype, channels,
          multiplies ? "a = HardSigmoid(t) y = Mul(x, a)" : "y = Sigmoid(t)");
      SCOPED_TRACE(text);
      const Graph graph = GraphWithWeights(text);
      EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "GlobalAveragePool", target()), target()), 0);
    }
  }
};

TEST_F(SqueezeExciteTest, OfTextRecognition) {
  for (const int64_t images : {1, 16}) {
    Check(images, 96, 12, 80, 24);
    Check(images, 192, 6, 80, 48);
    Check(images, 384, 3, 80, 96);
  }
}

TEST_F(SqueezeExciteTest, OfTextDetection) {
  Check(1, 96, 80, 80, 24);
  Check(1, 96, 160, 160, 24);
  Check(3, 24, 40, 40, 6, "bfloat16");
}

TEST_F(SqueezeExciteTest, OfOtherShapes) {
  Check(1, 8, 1, 1, 1);
  Check(5, 2048, 7, 7, 512);
  Check(40, 672, 7, 7, 168, "bfloat16");  // more clusters than run at once
}

}  // namespace
}  // namespace onnx_cudnn

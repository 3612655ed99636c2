// The kernel pool_gemv, with the blocks of a cluster running in parallel.
#include "absl/strings/str_format.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

class PoolGemvTest : public KernelTest {
 protected:
  PoolGemvTest() : KernelTest(kClusters) {}

  // Runs all Nodes as one launch.
  void Check(int64_t images, int64_t channels, int64_t side, int64_t columns,
             const std::string& dtype = "float16") {
    const std::string text = absl::StrFormat(
        "g (%s[%d,%d,%d,%d] x, %s[%d,%d] w, %s[%d] wb) => (float[%d,%d] y) "
        "{ p = GlobalAveragePool(x) f = Flatten(p) t = Gemm<transB = 1>(f, w, wb) "
        "y = Cast<to = 1>(t) }",
        dtype, images, channels, side, side, dtype, columns, channels, dtype, columns, images,
        columns);
    SCOPED_TRACE(text);
    const Graph graph = GraphWithWeights(text);
    EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "Gemm", target()), target()), 0);
  }
};

TEST_F(PoolGemvTest, OfResNets) {
  for (const int64_t images : {1, 2, 3, 4, 5}) Check(images, 512, 7, 1000);
  Check(1, 2048, 7, 1000);
}

TEST_F(PoolGemvTest, OfOtherShapes) {
  Check(1, 8, 1, 1);
  Check(1, 1280, 10, 21843);
  Check(7, 1000, 4, 257, "bfloat16");
  Check(8, 256, 8, 100);
  Check(2, 1024, 8, 100, "bfloat16");
}

}  // namespace
}  // namespace onnx_cudnn

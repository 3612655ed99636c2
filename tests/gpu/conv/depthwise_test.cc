// The kernel depthwise_conv in wide threads, of which small images have too few, and in narrow
// threads.
#include <string>

#include "absl/strings/str_format.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

class DepthwiseConvTest : public KernelTest {
 protected:
  // With bias, Relu and a Cast to f32 as second output: each subset, and all of them.
  void Check(int64_t images, int64_t channels, int64_t side, int64_t kernel, int64_t stride,
             const std::string& dtype) {
    const int64_t pad = kernel / 2;
    const std::string text = absl::StrFormat(
        "g (%s[%d,%d,%d,%d] x, %s[%d,1,%d,%d] w, %s[%d] wb) => (y, z) "
        "{ t = Conv<group = %d, strides = [%d, %d], pads = [%d, %d, %d, %d]>(x, w, wb) "
        "y = Relu(t) z = Cast<to = 1>(y) }",
        dtype, images, channels, side, side, dtype, channels, kernel, kernel, dtype, channels,
        channels, stride, stride, pad, pad, pad, pad);
    SCOPED_TRACE(text);
    const Graph graph = GraphWithWeights(text);
    EXPECT_GT(CheckAll(graph, Around(graph, "Conv", target()), target()), 0);
  }
};

TEST_F(DepthwiseConvTest, OfSmallImages) {
  for (const int64_t kernel : {3, 5, 7}) {
    for (const int64_t stride : {1, 2}) {
      Check(1, 96, 21, kernel, stride, "float16");
      Check(2, 13, 18, kernel, stride, "bfloat16");
    }
  }
}

TEST_F(DepthwiseConvTest, OfManyImages) {
  if (IsEmulated()) GTEST_SKIP() << "is about many threads";
  for (const int64_t kernel : {3, 5, 7}) {
    for (const int64_t stride : {1, 2}) Check(16, 96, 41 * stride, kernel, stride, "float16");
  }
  Check(13, 93, 41, 7, 1, "bfloat16");
  Check(8, 96, 41, 7, 1, "float");
}

}  // namespace
}  // namespace onnx_cudnn

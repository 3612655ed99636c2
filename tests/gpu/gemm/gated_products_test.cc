// Two products of the same rows and the Mul of a gated MLP as one launch of gemv_mma, at the sizes
// of language models, against the reference.
#include <string>

#include "absl/strings/substitute.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class GatedProductsTest : public KernelTest {
 protected:
  void Check(const std::string& dtype, int rows, int depth, int columns) {
    const std::string text = absl::Substitute(
        "g ($0[$1,$2] x, $0[$2,$3] w, $0[$2,$3] wv) => (y) "
        "{ a = MatMul(x, w) s = Swish(a) b = MatMul(x, wv) y = Mul(s, b) }",
        dtype, rows, depth, columns);
    SCOPED_TRACE(text);
    const Graph graph = GraphWithWeights(text);
    EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "MatMul", target()), target()), 0);
  }
};

TEST_F(GatedProductsTest, OfFewRows) {
  const int depth = ShortIfEmulated(2048), columns = ShortIfEmulated(8192);
  for (const char* dtype : {"float16", "bfloat16"}) {
    Check(dtype, 1, depth, columns);
    Check(dtype, 16, depth, columns);
    Check(dtype, 9, 1000, 1001);
  }
}

}  // namespace
}  // namespace onnx_cudnn

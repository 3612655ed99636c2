// The kernel stem_pool, with several rows and images per stream.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

// Images are `height` high. T is the type of the products; the image is f32 if a Cast precedes.
std::string TextOf(int64_t batch, int64_t height, std::string_view type, bool has_cast) {
  const std::string text = absl::Substitute(
      "g ($0[$1,3,$2,224] x, T[64,3,7,7] w, T[64] wb) => (y) { $3 "
      "c = Conv<strides = [2, 2], pads = [3, 3, 3, 3]>($4, w, wb) r = Relu(c) "
      "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(r) }",
      has_cast ? "float" : "T", batch, height, has_cast ? "h = Cast<to = 10>(x)" : "",
      has_cast ? "h" : "x");
  return absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")}});
}

class StemPoolTest : public KernelTest {
 protected:
  StemPoolTest() : KernelTest(kSm90aCode) {}

  // Runs all Nodes as one launch and compares with the reference, which takes seconds.
  void Check(std::string_view type, bool has_cast = false) {
    if (IsEmulated()) GTEST_SKIP() << "is about many blocks";
    const Target target = Tf32Target();
    // Images that begin inside streams; one image; runs that wrap around ring buffers; the least
    // height.
    for (const auto& [batch, height] : {std::pair{700, 8}, {1, 224}, {48, 224}, {301, 4}}) {
      SCOPED_TRACE(absl::StrCat(batch, " images ", height, " high"));
      const Graph graph = GraphWithWeights(TextOf(batch, height, type, has_cast));
      EXPECT_EQ(CheckAll(graph, OfAllNodes(graph, "Conv", target), target), 1);
    }
  }
};

TEST_F(StemPoolTest, OfF16) { Check("float16"); }
TEST_F(StemPoolTest, OfF16FromAnImageOfF32) { Check("float16", /*has_cast=*/true); }
TEST_F(StemPoolTest, OfBF16) { Check("bfloat16"); }
TEST_F(StemPoolTest, OfF32InTf32) { Check("float"); }

}  // namespace
}  // namespace onnx_cudnn

// The kernel conv_1x1 where blocks have several tiles each.
#include <algorithm>

#include "tests/gpu/conv_1x1_cases.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

class Conv1x1Test : public KernelTest {
 protected:
  // All Nodes as one by each of our kernels that takes them, of which conv_1x1 is one, against the
  // reference, which takes seconds.
  void Check(const Conv1x1Case& test, int64_t batch) {
    if (IsEmulated()) GTEST_SKIP() << "is about many blocks";
    SCOPED_TRACE(test.Name());
    const Graph graph = GraphWithWeights(test.Text(batch));
    CheckKernels(graph, "Conv", [&](const Engine& engine, const Candidate& candidate) {
      if (candidate.nodes.size() != graph.TopologicalOrder().size()) return false;
      EXPECT_TRUE(Names(engine, candidate, "conv_1x1"));
      return true;
    });
  }

 private:
  bool Names(const Engine& engine, const Candidate& candidate, std::string_view kernel) const {
    const auto variants = engine.Variants(candidate, target());
    return variants.ok() &&
           std::any_of(variants->begin(), variants->end(), [&](const Variant& variant) {
             return std::string_view(variant.text).starts_with(kernel);
           });
  }
};

TEST_F(Conv1x1Test, OfResNet50) {
  for (const Conv1x1Case& test : ResNet50Conv1x1Cases()) {
    // 132 blocks have more than one tile each.
    Check(test, test.side == 56 ? 16 : test.side == 28 ? 32 : 64);
  }
}

// The last tile of pixels is not whole; 64 and 128 filters a tile.
TEST_F(Conv1x1Test, OfOtherShapes) {
  Check({.channels = 192, .filters = 64, .side = 17}, 67);
  Check({.channels = 448, .filters = 64, .side = 30, .other_channels = 64, .stride = 2}, 33);
  Check({.channels = 64, .filters = 384, .side = 23}, 65);
  Check({.channels = 320, .filters = 640, .side = 10, .other_channels = 320, .stride = 2}, 63);
}

}  // namespace
}  // namespace onnx_cudnn

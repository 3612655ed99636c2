// Normalization of planes that a block's registers do not hold: channels-last by blocks that keep
// items in shared memory or drop them, and long rows.
#include "absl/strings/substitute.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class PlaneNormCodeTest : public KernelsTest {
 protected:
  // In every layout that the kernel proposes, by the blocks of one multiprocessor. In the emulator
  // the first block takes all items.
  void Check(const std::string& type, const std::string& dims, int channels, int groups,
             double tolerance, int64_t shared_bytes) {
    Target target = target_;
    target.info.multiprocessors = 1;
    target.info.shared_bytes_per_block = shared_bytes;
    const std::string text = absl::Substitute(
        "g ($0[$1] x, $0[$2] w, $0[$2] b) => (y) { y = GroupNormalization<num_groups = $3>(x, w, "
        "b) }",
        type, dims, channels, groups);
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    std::vector<HostTensor> inputs;
    for (const Value* v : graph.inputs()) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
    }
    const auto candidates = At(graph, "GroupNormalization").candidates;
    EXPECT_GE(candidates.size(), 2u);  // rows and channels-last
    for (const Candidate& candidate : candidates) {
      const auto code = CompileVariant(candidate, {.text = "plane_norm"}, target);
      ASSERT_TRUE(code.ok()) << code.status();
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, inputs, tolerance), "")
          << Describe(candidate);
    }
  }
};

constexpr int64_t kNone = 0, kOneItem = 40 << 10, kTwoItems = 227 << 10;  // of shared memory

TEST_F(PlaneNormCodeTest, KeepsItemsOfSmallImages) {  // one item each
  for (const int64_t shared_bytes : {kNone, kOneItem, kTwoItems}) {
    Check("float16", "5,24,14,14", 24, 6, 2e-3, shared_bytes);
    Check("float", "5,20,13,9", 20, 2, 2e-5, shared_bytes);
    Check("double", "3,6,20,20", 6, 3, 1e-12, shared_bytes);
  }
}

TEST_F(PlaneNormCodeTest, DropsItemsOfLargeImages) {  // several each, of which the last are kept
  for (const int64_t shared_bytes : {kNone, kOneItem, kTwoItems}) {
    Check("float", "2,8,64,64", 8, 4, 2e-5, shared_bytes);
    Check("bfloat16", "2,16,61,63", 16, 8, 1.6e-2, shared_bytes);
  }
}

TEST_F(PlaneNormCodeTest, RowsOfMoreThan512Threads) {
  Check("float", "1,4,96,96", 4, 2, 2e-5, kTwoItems);
  Check("float16", "1,4,130,130", 4, 1, 2e-3, kTwoItems);
}

}  // namespace
}  // namespace onnx_cudnn

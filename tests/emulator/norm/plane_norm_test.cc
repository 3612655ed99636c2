// Normalization of planes that a block's registers do not hold: channels-last, with moments that
// are ahead of results by what L2 holds, and long rows.
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
             double tolerance, int64_t l2_bytes) {
    Target target = target_;
    target.info.multiprocessors = 1;
    target.info.l2_bytes = l2_bytes;
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

// From one image's items to those of all images are ahead.
constexpr int64_t kL2Bytes[] = {1, 128 << 10, 512 << 10, 60 << 20};

TEST_F(PlaneNormCodeTest, ReadsSmallImagesTwice) {  // one item each
  for (const int64_t l2_bytes : kL2Bytes) {
    Check("float16", "5,24,14,14", 24, 6, 2e-3, l2_bytes);
    Check("float", "5,20,13,9", 20, 2, 2e-5, l2_bytes);
    Check("double", "3,6,20,20", 6, 3, 1e-12, l2_bytes);
  }
}

TEST_F(PlaneNormCodeTest, ReadsLargeImagesTwice) {  // several each
  for (const int64_t l2_bytes : kL2Bytes) {
    Check("float", "2,8,64,64", 8, 4, 2e-5, l2_bytes);
    Check("bfloat16", "2,16,61,63", 16, 8, 1.6e-2, l2_bytes);
  }
}

TEST_F(PlaneNormCodeTest, RowsOfMoreThan512Threads) {
  Check("float", "1,4,96,96", 4, 2, 2e-5, kL2Bytes[0]);
  Check("float16", "1,4,130,130", 4, 1, 2e-3, kL2Bytes[0]);
}

}  // namespace
}  // namespace onnx_cudnn

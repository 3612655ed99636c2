// LayerNormalization and RMSNormalization of rows: a part of a warp, a warp or a block for each
// row, by the length and number of rows.
#include "absl/strings/substitute.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class RowNormCodeTest : public KernelsTest {
 protected:
  void Check(const std::string& type, int rows, int columns, const std::string& op,
             double tolerance) {
    const bool has_bias = op == "LayerNormalization";
    const std::string text = absl::Substitute(
        "g ($0[$1,$2] x, $0[$2] s$3) => (y) { y = $4(x, s$5) }", type, rows, columns,
        has_bias ? absl::Substitute(", $0[$1] b", type, columns) : "", op, has_bias ? ", b" : "");
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    std::vector<HostTensor> inputs;
    for (const Value* v : graph.inputs()) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
    }
    const auto candidates = At(graph, op).candidates;
    ASSERT_FALSE(candidates.empty());
    for (const Candidate& candidate : candidates) {
      const auto code = CompileVariant(candidate, {.text = "row_norm"}, target_);
      if (!code.ok()) continue;
      ++ran_;
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, inputs, tolerance), "");
    }
  }
  int ran_ = 0;
};

TEST_F(RowNormCodeTest, FewAndManyRowsOfAnyLength) {
  for (const int columns : {7, 256, 264, 1000, 1028, 2048, 5000}) {
    for (const int rows : {1, 3, 300}) {
      if (rows == 300 && columns > 1000) continue;
      Check("float16", rows, columns, "RMSNormalization", 2e-3);
      Check("float", rows, columns, "LayerNormalization", 2e-5);
    }
  }
  EXPECT_GE(ran_, 30);
}

}  // namespace
}  // namespace onnx_cudnn

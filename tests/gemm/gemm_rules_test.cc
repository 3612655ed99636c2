#include "absl/strings/str_cat.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

class GemmRulesTest : public EngineTest {
 protected:
  GemmRulesTest() : EngineTest("gemm") {}

  std::vector<std::string> LayoutsOf(std::string_view text, std::string_view op) const {
    return LinesAt(GraphWithWeights(text), op);
  }
};

using Lines = std::vector<std::string>;

TEST_F(GemmRulesTest, ProductsFollowTheirRules) {
  ExpectCases({
      {"bias and Relu",
       "g (float16[4,8] x, float16[8,16] w, float16[16] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(wb, t) y = Relu(u) }",
       "MatMul", "{MatMul Add Relu}"},
      {"scale, residual, bias and Gelu",
       "g (float16[4,8] x, float16[8,16] w, float16[1,16] wb, float16[4,16] r) => (y) "
       "{ c = Constant<value = float16 {2}>() t = MatMul(x, w) s = Mul(t, c) u = Add(s, r) "
       "v = Add(u, wb) y = Gelu<approximate = \"tanh\">(v) }",
       "MatMul", "{MatMul Mul Add Add Gelu}"},
      {"Gemm with a bias",
       "g (float[4,8] x, float[16,8] w, float[16] wb) => (y) "
       "{ t = Gemm<transB = 1, alpha = 0.5>(x, w, wb) y = Relu(t) }",
       "Gemm", "{Gemm Relu}"},
      {"Gemm with a scaled matrix",
       "g (float[4,8] x, float[8,16] w, float[4,16] c) => (y) { y = Gemm<beta = 0.5>(x, w, c) }",
       "Gemm", "{Gemm}"},
      {"no scaled bias",
       "g (float[4,8] x, float[8,16] w, float[16] wb) => (y) { y = Gemm<beta = 0.5>(x, w, wb) }",
       "Gemm", "", "its bias is scaled by beta"},
      {"no column as addend",
       "g (float[4,8] x, float[8,16] w, float[4,1] c) => (y) { y = Gemm(x, w, c) }", "Gemm", "",
       "is neither a row nor a matrix"},
      {"no Gelu by erf", "g (float[4,8] x, float[8,16] w) => (y) { t = MatMul(x, w) y = Gelu(t) }",
       "MatMul", "{MatMul}", "t to Gelu: cuBLASLt's Gelu is the tanh approximation"},
      {"no other activation",
       "g (float[4,8] x, float[8,16] w) => (y) { t = MatMul(x, w) y = Sigmoid(t) }", "MatMul",
       "{MatMul}", "t to Sigmoid: cuBLASLt computes act("},
      {"nothing behind the activation",
       "g (float[4,8] x, float[8,16] w, float[4,16] r) => (y) "
       "{ t = MatMul(x, w) u = Relu(t) y = Add(u, r) }",
       "MatMul", "{MatMul Relu}", "u to Add: cuBLASLt applies the activation last"},
      {"no scale behind the bias",
       "g (float[4,8] x, float[8,16] w, float[16] wb) => (y) "
       "{ c = Constant<value = float {2}>() t = MatMul(x, w) u = Add(t, wb) y = Mul(u, c) }",
       "MatMul", "{MatMul Add}", "u to Mul: cuBLASLt scales the product before"},
      {"one bias",
       "g (float[4,8] x, float[8,16] w, float[16] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(t, wb) y = Add(u, wb) }",
       "MatMul", "{MatMul Add}", "u to Add: cuBLASLt adds one bias"},
      {"no scalar addend",
       "g (float[4,8] x, float[8,16] w) => (y) "
       "{ c = Constant<value = float {2}>() t = MatMul(x, w) y = Add(t, c) }",
       "MatMul", "{MatMul}", "t to Add: cuBLASLt adds one value per column"},
      {"one result", "g (float[4,8] x, float[8,16] w) => (t, y) { t = MatMul(x, w) y = Relu(t) }",
       "MatMul", "{MatMul}", "t to Relu: cuBLASLt writes one result"},
  });
}

TEST_F(GemmRulesTest, ProductsReadTransposedAndBatchedFactors) {
  ExpectCases({
      {"a Transpose of either factor",
       "g (float[2,8,4] a, float[2,16,8] b) => (y) "
       "{ c = Transpose<perm = [0,2,1]>(a) d = Transpose<perm = [0,2,1]>(b) y = MatMul(c, d) }",
       "MatMul", "{Transpose Transpose MatMul}"},
      {"no Transpose of the batch",
       "g (float[4,2,8] a, float[2,8,16] b) => (y) "
       "{ c = Transpose<perm = [1,0,2]>(a) y = MatMul(c, b) }",
       "MatMul", "{MatMul}", "c to Transpose: cuBLASLt reads a transposed operand"},
      {"a weight for a whole batch",
       "g (float[2,3,4,8] x, float[8,16] w) => (y) { y = MatMul(x, w) }", "MatMul", "{MatMul}"},
      {"no batch that broadcasts in part",
       "g (float[2,1,4,8] a, float[2,3,8,4] b) => (y) { y = MatMul(a, b) }", "MatMul", "",
       "broadcasts over a part of the batch"},
  });
}

TEST_F(GemmRulesTest, ProductsLeaveVectorsAndIntegers) {
  ExpectCases({
      {"no vector on the right", "g (float[4,8] x, float[8] v) => (y) { y = MatMul(x, v) }",
       "MatMul", "", "v is a vector"},
      {"no vector on the left", "g (float[8] v, float[8,4] x) => (y) { y = MatMul(v, x) }",
       "MatMul", "", "v is a vector"},
      {"no two vectors", "g (float[8] v, float[8] u) => (y) { y = MatMul(v, u) }", "MatMul", "",
       "v is a vector"},
      {"no vector for a batch", "g (float[2,4,8] x, float[8] v) => (y) { y = MatMul(x, v) }",
       "MatMul", "", "v is a vector"},
      {"no batch for a vector", "g (float[8] v, float[2,8,4] x) => (y) { y = MatMul(v, x) }",
       "MatMul", "", "v is a vector"},
      {"no integers", "g (int32[4,8] x, int32[8,16] v) => (y) { y = MatMul(x, v) }", "MatMul", "",
       "i32"},
  });
}

TEST_F(GemmRulesTest, PointConvolutionsFollowTheirRules) {
  ExpectCases({
      {"bias, residual and Relu",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[8] wb) => (y) "
       "{ t = Conv(x, w, wb) s = Add(t, x) y = Relu(s) }",
       "Conv", "{Conv Add Relu}"},
      {"no two biases",
       "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[8] wb, float16[8,1,1] wc) => (y) "
       "{ t = Conv(x, w, wb) y = Add(t, wc) }",
       "Conv", "{Conv}", "t to Add: cuBLASLt adds one bias"},
      {"no larger window", "g (float[1,8,4,4] x, float[8,8,3,3] w) => (y) { y = Conv(x, w) }",
       "Conv", "", "a product only where kernel and strides are 1"},
      {"no stride",
       "g (float[1,8,4,4] x, float[8,8,1,1] w) => (y) { y = Conv<strides = [2,2]>(x, w) }", "Conv",
       "", "a product only where kernel and strides are 1"},
      {"no groups", "g (float[1,8,4,4] x, float[8,4,1,1] w) => (y) { y = Conv<group = 2>(x, w) }",
       "Conv", "", "it has groups"},
      {"no product over two sources",
       "g (float16[1,8,4,4] a, float16[1,16,4,4] b, float16[8,8,1,1] w, float16[8,16,1,1] wb) => "
       "(y) { t = Conv(a, w) s = Conv(b, wb) y = Add(t, s) }",
       "Conv", "{Conv Add}", "s to Conv: two products are one over both depths only where"},
  });
}

TEST_F(GemmRulesTest, PointConvolutionsAreChannelsLast) {
  EXPECT_EQ(
      LayoutsOf("g (float16[1,8,4,4] x, float16[16,8,1,1] w) => (y) { y = Conv(x, w) }", "Conv"),
      Lines({"{Conv} last > last"}));
  EXPECT_EQ(LayoutsOf("g (float[1,3,4,4] x, float[6,3,1,1] w) => (y) { y = Conv(x, w) }", "Conv"),
            Lines({"{Conv} last > last", "{Conv} last > last4", "{Conv} last4 > last",
                   "{Conv} last4 > last4"}));
}

TEST_F(GemmRulesTest, CheckRefusesACandidateThatWasChanged) {
  const Graph graph = GraphWithWeights(
      "g (float16[1,8,4,4] x, float16[8,8,1,1] w) => (y) { t = Conv(x, w) u = Relu(t) y = "
      "Sigmoid(u) }");
  Candidate changed = At(graph, "Conv").candidates.back();
  changed.inputs[0].format = Format::RowMajor({1, 8, 4, 4});
  EXPECT_NE(engine_->Check(graph, changed, target_).reason().find("x lies as"), std::string::npos);
  changed = At(graph, "Conv").candidates.back();
  changed.nodes.push_back(&FindNode(graph, "Sigmoid"));
  EXPECT_EQ(engine_->Check(graph, changed, target_).reason(),
            "cuBLASLt computes act(alpha·A·B + beta·C + bias) with Relu or Gelu, nothing else");
}

// 1×1 convolutions with a residual at batch 256, as measured on an H200 (docs/measurements.md,
// 'Residuals').
TEST_F(GemmRulesTest, PricesAreNearWhatWasMeasured) {
  struct Measured {
    int channels, filters, extent;
    double us;
  };
  for (const Measured& m : {Measured{64, 256, 56, 232}, Measured{128, 512, 28, 121},
                            Measured{256, 1024, 14, 72}, Measured{512, 2048, 7, 58}}) {
    const std::string x = absl::StrCat("float16[256,", m.channels, ",", m.extent, ",", m.extent);
    const std::string r = absl::StrCat("float16[256,", m.filters, ",", m.extent, ",", m.extent);
    const Graph graph = GraphWithWeights(
        absl::StrCat("g (", x, "] x, float16[", m.filters, ",", m.channels, ",1,1] w, ", r,
                     "] r) => (y) { t = Conv(x, w) s = Add(t, r) y = Relu(s) }"));
    const double us = At(graph, "Conv").candidates.back().cost.us;
    EXPECT_GT(us, 0.75 * m.us);
    EXPECT_LT(us, 1.3 * m.us);
  }
}

}  // namespace
}  // namespace onnx_cudnn

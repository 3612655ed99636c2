// Which attentions run as one launch, and their prices.
#include "absl/strings/match.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

using AttentionTest = KernelsTest;

// As in text recognition, with 15 channels per head.
constexpr char kRecognition[] =
    "g (float16[1,8,40,15] q, float16[1,8,40,15] k, float16[1,8,40,15] v, float16 ws) => (y) "
    "{ a = Mul(q, ws) t = Transpose<perm = [0,1,3,2]>(k) s = MatMul(a, t) p = Softmax(s) "
    "y = MatMul(p, v) }";

TEST_F(AttentionTest, TakesWhatScalesMasksAndTurns) {
  ExpectCases({
      {"from its first product", kRecognition, "MatMul", "{Mul Transpose MatMul Softmax MatMul}"},
      {"from its Softmax", kRecognition, "Softmax", "{Mul Transpose MatMul Softmax MatMul}"},
      {"a divided product and a mask",
       "g (float[2,5,8] q, float[2,8,7] k, float[2,7,4] v, float[7] m, float[1] ws) => (y) "
       "{ s = MatMul(q, k) t = Div(s, ws) u = Add(m, t) p = Softmax<axis = 2>(u) "
       "y = MatMul(p, v) }",
       "MatMul", "{MatMul Div Add Softmax MatMul}"},
      {"factors of both operands",
       "g (bfloat16[2,5,8] q, bfloat16[2,7,8] k, bfloat16[2,7,4] v, bfloat16 ws) => (y) "
       "{ a = Mul(ws, q) t = Transpose<perm = [0,2,1]>(k) b = Mul(t, ws) s = MatMul(a, b) "
       "p = Softmax(s) y = MatMul(p, v) }",
       "Softmax", "{Mul Transpose Mul MatMul Softmax MatMul}"},
      {"a Softmax in f32",
       "g (float16[2,5,8] q, float16[2,8,7] k, float16[2,7,4] v) => (y) "
       "{ s = MatMul(q, k) t = Cast<to = 1>(s) p = Softmax(t) h = Cast<to = 10>(p) "
       "y = MatMul(h, v) }",
       "MatMul", "{MatMul Cast Softmax Cast MatMul}"},
      {"a mask that is added in f32",
       "g (float16[2,5,8] q, float16[2,8,7] k, float16[2,7,4] v, float[7] m, float16 ws) => (y) "
       "{ s = MatMul(q, k) a = Mul(s, ws) t = Cast<to = 1>(a) u = Add(t, m) p = Softmax(u) "
       "h = Cast<to = 10>(p) y = MatMul(h, v) }",
       "MatMul", "{MatMul Mul Cast Add Softmax Cast MatMul}"},
      {"a factor that others read, and a Transpose of other axes",
       "g (float[3,5,8] q, float[8,3,7] k, float[3,7,4] v, float ws) => (y, z) "
       "{ a = Mul(q, ws) z = Neg(a) t = Transpose<perm = [1,0,2]>(k) s = MatMul(a, t) "
       "p = Softmax(s) y = MatMul(p, v) }",
       "Softmax", "{MatMul Softmax MatMul}"},
  });
}

TEST_F(AttentionTest, TakesTheOp) {
  const std::string heads = "g (float16[2,4,5,12] q, float16[2,4,7,12] k, float16[2,4,7,3] v";
  ExpectCases({
      {"alone", heads + ") => (y) { y = Attention(q, k, v) }", "Attention", "{Attention}"},
      {"with a mask",
       heads + ", float[2,1,1,7] m) => (y) { y = Attention<scale = 2.0>(q, k, v, m) }", "Attention",
       "{Attention}"},
      {"not causal", heads + ") => (y) { y = Attention<is_causal = 1>(q, k, v) }", "Attention", "",
       "attention: it is causal"},
      {"not with a mask of bools", heads + ", bool[5,7] m) => (y) { y = Attention(q, k, v, m) }",
       "Attention", "", "attention: its mask is bool"},
      {"not with shared heads",
       "g (float16[2,4,5,12] q, float16[2,2,7,12] k, float16[2,2,7,3] v) => (y) "
       "{ y = Attention(q, k, v) }",
       "Attention", "", "k is f16[2,2,7,12], q is f16[2,4,5,12]"},
  });
}

TEST_F(AttentionTest, IsFoundFromItsLastProduct) {
  const Graph graph = GraphWithWeights(kRecognition);
  const Proposed proposed = At(graph, *graph.TopologicalOrder().back());
  std::vector<std::string> ops;
  for (const Candidate& c : proposed.candidates) ops.push_back(OpsOf(c));
  EXPECT_EQ(ops, (std::vector<std::string>{"{MatMul Softmax MatMul}",
                                           "{Mul Transpose MatMul Softmax MatMul}", "{MatMul}"}));
}

TEST_F(AttentionTest, ReadsAndWritesRows) {
  EXPECT_EQ(LinesAt(GraphWithWeights(kRecognition), "Softmax"),
            (std::vector<std::string>{"{MatMul Softmax MatMul} rows rows rows > rows",
                                      "{Mul Transpose MatMul Softmax MatMul} rows rows rows > rows",
                                      "{Softmax} rows > rows"}));
}

// Tensor cores are assumed to be faster then.
TEST_F(AttentionTest, ManyProductsAreBeyondItsFit) {
  for (const int heads : {32, 64}) {  // 33,554,432 products, and twice as many
    const std::string n = std::to_string(heads);
    const Graph graph = GraphWithWeights(
        "g (float16[" + n + ",64,64] q, float16[" + n + ",64,128] k, float16[" + n +
        ",128,64] v) => (y) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }");
    const std::vector<Candidate> found = At(graph, "Softmax").candidates;
    const auto fused = std::ranges::find(found, "{MatMul Softmax MatMul}", OpsOf);
    ASSERT_NE(fused, found.end());
    EXPECT_EQ(fused->beyond_fit, heads == 64);
  }
}

TEST_F(AttentionTest, ManyKeysAndChannelsAreBeyondItsFit) {
  const std::pair<std::string_view, bool> cases[] = {
      {"float[2,5,128] q, float[2,128,7] k, float[2,7,128] v", false},
      {"float[2,5,129] q, float[2,129,7] k, float[2,7,4] v", true},
      {"float[2,5,8] q, float[2,8,7] k, float[2,7,130] v", true},
      {"float[2,5,8] q, float[2,8,1024] k, float[2,1024,4] v", false},
      {"float[2,5,8] q, float[2,8,1025] k, float[2,1025,4] v", true}};
  for (const auto& [types, is_beyond] : cases) {
    const Graph graph = GraphWithWeights(absl::StrCat(
        "g (", types, ") => (y) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }"));
    const std::vector<Candidate> found = At(graph, "Softmax").candidates;
    const auto fused = std::ranges::find(found, "{MatMul Softmax MatMul}", OpsOf);
    ASSERT_NE(fused, found.end()) << types;
    EXPECT_EQ(fused->beyond_fit, is_beyond) << types;
  }
}

TEST_F(AttentionTest, LeavesOtherAttentions) {
  const auto leaves = [&](const std::string& types, const std::string& says,
                          const std::string& nodes =
                              "s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v)") {
    const Graph graph = GraphWithWeights("g (" + types + ") => (y) { " + nodes + " }");
    const Proposed proposed = At(graph, "Softmax");
    for (const Candidate& c : proposed.candidates) {
      EXPECT_EQ(OpsOf(c).find("MatMul"), std::string::npos) << OpsOf(c);
    }
    std::vector<std::string> reasons = proposed.reasons;
    std::erase_if(reasons, [](const std::string& r) { return !r.starts_with("attention"); });
    EXPECT_EQ(reasons, says.empty() ? std::vector<std::string>()
                                    : std::vector<std::string>{"attention: " + says})
        << types << nodes;
  };
  leaves("double[2,5,8] q, double[2,8,7] k, double[2,7,4] v", "it does not take f64");
  leaves("float[5,8] q, float[8,7] k, float[7,4] v", "q has rank 2, less than 3");
  leaves("float[2,5,8] q, float[1,8,7] k, float[2,7,4] v", "k is f32[1,8,7], q is f32[2,5,8]");
  leaves("float[2,5,8] q, float[2,8,7] k, float[7,4] v", "v is f32[7,4], q is f32[2,5,8]");
  leaves("float[2,0,8] q, float[2,8,7] k, float[2,7,4] v", "an operand is empty");
  leaves("float[1,4,64] q, float[1,64,512] k, float[1,512,64] v",
         "k and v of a head need 271360 bytes of shared memory, more than 98304");
  const std::string types = "float[1,2,3,8] q, float[1,2,8,4] k, float[1,2,4,5] v";
  leaves(types, "its Softmax is not along the last axis",
         "s = MatMul(q, k) p = Softmax<axis = 1>(s) y = MatMul(p, v)");
  leaves(types + ", float[6,2,3,4] m", "t is f32[6,2,3,4], s is f32[1,2,3,4]",
         "s = MatMul(q, k) t = Add(s, m) p = Softmax(t) y = MatMul(p, v)");
  leaves("float16[2,5,8] q, float16[2,8,7] k, float[2,7,4] v", "v is f32[2,7,4], q is f16[2,5,8]",
         "s = MatMul(q, k) t = Cast<to = 1>(s) p = Softmax(t) y = MatMul(p, v)");
  leaves("float[2,5,8] q, float[2,8,7] k, float[2,7,4] v", "t is f16",
         "s = MatMul(q, k) t = Cast<to = 10>(s) p = Softmax(t) h = Cast<to = 1>(p) "
         "y = MatMul(h, v)");
  // No attention at all.
  leaves(types + ", float[4] w", "",
         "s = MatMul(q, k) t = Mul(s, w) p = Softmax(t) y = MatMul(p, v)");
  leaves(types + ", float ws", "",
         "s = MatMul(q, k) t = Div(ws, s) p = Softmax(t) y = MatMul(p, v)");
  leaves("float[2,5,8] q, float[2,8,7] k, float[2,4,5] v", "",
         "s = MatMul(q, k) p = Softmax(s) y = MatMul(v, p)");
}

TEST_F(AttentionTest, LeavesConstantKeysAndProbabilitiesWithOtherReaders) {
  const Graph constant = GraphWithWeights(
      "g (float[2,5,8] q, float[2,8,7] w, float[2,7,4] v) => (y) "
      "{ s = MatMul(q, w) p = Softmax(s) y = MatMul(p, v) }");
  const Proposed proposed = At(constant, "Softmax");
  ASSERT_EQ(proposed.reasons.size(), 1u);
  EXPECT_TRUE(absl::EndsWith(proposed.reasons[0], " is a constant")) << proposed.reasons[0];
  const Graph read = GraphWithWeights(
      "g (float[2,5,8] q, float[2,8,7] k, float[2,7,4] v) => (y, p) "
      "{ s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }");
  EXPECT_EQ(LinesAt(read, "Softmax"), std::vector<std::string>{"{Softmax} rows > rows"});
}

TEST_F(AttentionTest, IsPricedByItsArithmetic) {
  const Proposed proposed = At(GraphWithWeights(kRecognition), "Softmax");
  EXPECT_NEAR(proposed.candidates[1].cost.us, 3 + 837e3 / (0.15 * 51e6) + 38400 / 4.29e6, 0.01);
}

TEST_F(AttentionTest, IsChosen) {
  ExpectChosen(GraphWithWeights(kRecognition), "kernel {Mul Transpose MatMul Softmax MatMul}");
}

}  // namespace
}  // namespace onnx_cudnn

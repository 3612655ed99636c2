// Candidates as cuDNN graphs. Needs neither cuDNN nor a GPU.
#include "runtime/cudnn/cuda/lower.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cudnn/cudnn_rules.h"
#include "tests/cudnn/cuda/without_gpu.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

using Kind = CudnnOperation::Kind;

class LowerTest : public ::testing::Test {
 protected:
  LowerTest() {
    absl::StatusOr<OwnedTarget> rules = MakeTarget("h200");
    EXPECT_TRUE(rules.ok()) << rules.status();
    if (rules.ok()) rules_ = *std::move(rules);
  }

  CudnnGraph LowerLargest(std::string_view text, std::string_view op) {
    graph_ = GraphWithWeights(text);
    return Checked(Lower(LargestAt(*engine_, graph_, op, target_)));
  }
  CudnnGraph LowerCeilPool(std::string_view attributes) {
    return LowerLargest(
        absl::StrCat("g (float16[1,8,112,112] x) => (y) { y = MaxPool<kernel_shape = [3,3], "
                     "strides = [2,2], ceil_mode = 1",
                     attributes, ">(x) }"),
        "MaxPool");
  }
  // The Candidate with the layouts `described` (as printed by Describe).
  CudnnGraph LowerThat(std::string_view text, std::string_view op, std::string_view described) {
    graph_ = GraphWithWeights(text);
    for (const Candidate& c : CandidatesAt(*engine_, graph_, op, target_)) {
      if (Describe(c) == described) return Checked(Lower(c));
    }
    ADD_FAILURE() << "none is " << described;
    return {};
  }

  static CudnnGraph Checked(absl::StatusOr<CudnnGraph> graph) {
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph.ok() ? *std::move(graph) : CudnnGraph();
  }

  // A cuDNN plan refuses to run with operands that it does not read.
  static void ExpectEveryOperandIsRead(const CudnnGraph& graph) {
    for (const int operand : OperandsOf(graph)) {
      if (graph.tensors[operand].kind == CudnnTensor::Kind::kOutput) continue;
      const bool is_read = std::any_of(
          graph.operations.begin(), graph.operations.end(), [&](const CudnnOperation& o) {
            return std::find(o.in.begin(), o.in.end(), operand) != o.in.end();
          });
      EXPECT_TRUE(is_read) << "operand " << operand;
    }
  }

  static void ExpectLayout(const CudnnTensor& tensor, const Dims& dims, const Dims& strides) {
    EXPECT_EQ(tensor.dims, dims);
    EXPECT_EQ(tensor.strides, strides);
  }

  static std::vector<PointwiseMode> ModesOf(const CudnnGraph& graph) {
    std::vector<PointwiseMode> modes;
    for (const CudnnOperation& o : graph.operations) {
      if (o.kind == Kind::kPointwise) modes.push_back(o.mode);
    }
    return modes;
  }

  const std::unique_ptr<Engine> engine_ = MakeCudnnRules();
  OwnedTarget rules_;
  const Target& target_ = rules_.target;
  Graph graph_;
};

TEST_F(LowerTest, TransposesOfHeadsBecomeStrides) {
  const CudnnGraph graph = LowerLargest(
      "g (float16[2,5,4,8] q, float16[2,7,2,8] k, float16[2,7,2,16] v, float16[2,1,1,7] m) => (y) "
      "{ a = Transpose<perm = [0,2,1,3]>(q) b = Transpose<perm = [0,2,1,3]>(k) "
      "c = Transpose<perm = [0,2,1,3]>(v) d = Attention<scale = 0.5>(a, b, c, m) "
      "y = Transpose<perm = [0,2,1,3]>(d) }",
      "Attention");
  ASSERT_EQ(graph.operations.size(), 1u);
  const CudnnOperation& o = graph.operations[0];
  EXPECT_EQ(o.kind, Kind::kAttention);
  EXPECT_FALSE(o.is_causal);
  ASSERT_EQ(o.in.size(), 5u);
  const std::pair<Dims, Dims> expected[] = {{{2, 4, 5, 8}, {160, 8, 32, 1}},
                                            {{2, 2, 7, 8}, {112, 8, 16, 1}},
                                            {{2, 2, 7, 16}, {224, 16, 32, 1}}};
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    ExpectLayout(graph.tensors[o.in[i]], expected[i].first, expected[i].second);
  }
  EXPECT_EQ(graph.tensors[o.in[3]].number, 0.5F);
  EXPECT_EQ(graph.tensors[o.in[4]].dims, Dims({2, 1, 1, 7}));
  EXPECT_EQ(graph.tensors[o.in[4]].dtype, DType::kF16);
  ExpectLayout(graph.tensors[o.out], {2, 4, 5, 16}, {320, 16, 64, 1});
  ExpectEveryOperandIsRead(graph);
}

TEST_F(LowerTest, PartsOfOneProductBecomeOffsets) {
  const CudnnGraph graph = LowerLargest(
      "g (float16[2,5,96] x) => (y) <int64[3] n = {32, 32, 32}, int64[4] heads = {2, 5, 4, 8}> "
      "{ a, b, c = Split<axis = 2>(x, n) q = Reshape(a, heads) k = Reshape(b, heads) "
      "v = Reshape(c, heads) d = Transpose<perm = [0,2,1,3]>(q) "
      "e = Transpose<perm = [0,2,1,3]>(k) f = Transpose<perm = [0,2,1,3]>(v) "
      "y = Attention(d, e, f) }",
      "Attention");
  ASSERT_EQ(graph.operations.size(), 1u);
  const CudnnOperation& o = graph.operations[0];
  for (int i = 0; i < 3; ++i) {
    const CudnnTensor& operand = graph.tensors[o.in[i]];
    EXPECT_EQ(operand.kind, CudnnTensor::Kind::kInput);
    EXPECT_EQ(operand.index, 0);
    EXPECT_EQ(operand.offset, i * 64);  // bytes of 32 elements
    ExpectLayout(operand, {2, 4, 5, 8}, {480, 8, 96, 1});
  }
  ExpectEveryOperandIsRead(graph);
}

TEST_F(LowerTest, CausalAttentionHasAScoreForKeysBehindTheQuery) {
  const CudnnGraph graph = LowerLargest(
      "g (float16[2,4,7,64] q, float16[2,4,7,64] k, float16[2,4,7,64] v) => (y) "
      "{ y = Attention<is_causal = 1>(q, k, v) }",
      "Attention");
  ASSERT_EQ(graph.operations.size(), 1u);
  const CudnnOperation& o = graph.operations[0];
  EXPECT_TRUE(o.is_causal);
  ASSERT_EQ(o.in.size(), 5u);
  EXPECT_EQ(graph.tensors[o.in[3]].number, 0.125F);  // 1 / sqrt(64)
  EXPECT_EQ(graph.tensors[o.in[4]].number, std::numeric_limits<float>::lowest());
  EXPECT_EQ(graph.tensors[o.out].strides, Dims({1792, 448, 64, 1}));
}

TEST_F(LowerTest, EveryElementWiseOpThatTheRulesTakeLowers) {
  int lowered = 0;
  const auto expect = [&](const std::string& body) {
    SCOPED_TRACE(body);
    const Graph graph =
        GraphWithWeights("g (float[2,8,4,4] x, float[2,8,4,4] z) => (y) { " + body + " }");
    const Node& node = *graph.TopologicalOrder().back();
    for (const Candidate& c : CandidatesAt(*engine_, graph, node.op(), target_)) {
      const absl::StatusOr<CudnnGraph> lower = Lower(c);
      ASSERT_TRUE(lower.ok()) << lower.status();
      ExpectEveryOperandIsRead(*lower);
      ++lowered;
    }
  };
  for (const char* op : {"Abs",        "Ceil",
                         "Cos",        "Erf",
                         "Exp",        "Floor",
                         "Gelu",       "HardSigmoid",
                         "HardSwish",  "LeakyRelu",
                         "Log",        "Neg",
                         "Reciprocal", "Relu",
                         "Sigmoid",    "Sin",
                         "Softsign",   "Sqrt",
                         "Swish",      "Tan",
                         "Tanh",       "ThresholdedRelu",
                         "Shrink",     "Clip"}) {
    expect(std::string("y = ") + op + "(x)");
  }
  for (const char* op : {"Add", "Div", "Mean", "Mul", "PRelu", "Pow", "Sub", "Sum"}) {
    expect(std::string("y = ") + op + "(x, z)");
  }
  expect("y = Cast<to = 10>(x)");
  EXPECT_GE(lowered, 66);  // row-major and channels-last of each
}

TEST_F(LowerTest, PadsChannelsOfTheStem) {
  const CudnnGraph g = LowerThat(
      "g (float16[8,3,224,224] x, float16[64,3,7,7] w0, float16[64] w1) => (y)"
      "{ y = Conv<pads = [3,3,3,3], strides = [2,2]>(x, w0, w1) }",
      "Conv", "{Conv} last4 > last");
  ASSERT_EQ(g.operations.size(), 2u);
  EXPECT_EQ(g.operations[0].kind, Kind::kConvolution);
  const CudnnTensor& x = g.tensors[g.operations[0].in[0]];
  ExpectLayout(x, {8, 4, 224, 224}, {200704, 1, 896, 4});
  const CudnnTensor& w = g.tensors[g.operations[0].in[1]];
  ExpectLayout(w, {64, 4, 7, 7}, {196, 1, 28, 4});
  EXPECT_EQ(g.constants[w.index].format.ToString(), "0:64 2:7 3:7 1:4");
  EXPECT_EQ(g.constants[w.index].dims, (Dims{64, 3, 7, 7}));
  const CudnnTensor& bias = g.tensors[g.operations[1].in[1]];
  ExpectLayout(bias, {1, 64, 1, 1}, {64, 1, 64, 64});
  EXPECT_EQ(g.tensors[g.operations[1].out].kind, CudnnTensor::Kind::kOutput);
}

TEST_F(LowerTest, PadsFiltersAndTheirBias) {
  const CudnnGraph g = LowerThat(
      "g (float16[8,64,28,28] x, float16[1,64,3,3] w0, float16[1] w1) => (y)"
      "{ a = Conv(x, w0, w1)\n y = Relu(a) }",
      "Conv", "{Conv Relu} last > last8");
  ASSERT_EQ(g.operations.size(), 3u);
  EXPECT_EQ(g.tensors[g.operations[0].in[1]].dims, (Dims{8, 64, 3, 3}));
  EXPECT_EQ(g.tensors[g.operations[1].in[1]].dims, (Dims{1, 8, 1, 1}));  // no number: zeros behind
  EXPECT_EQ(g.constants[1].format.ToString(), "1:8");
  EXPECT_EQ(g.operations[2].mode, PointwiseMode::kRelu);
}

TEST_F(LowerTest, TheResultOfAConvolutionComesFirst) {
  const CudnnGraph g = LowerLargest(
      "g (float16[8,64,9,9] x, float16[64,64,1,1] w0, float16[8,64,9,9] r, float16[64,1,1] w1)"
      " => (y) { a = Conv(x, w0)\n b = Mul(w1, a)\n y = Sub(r, b) }",
      "Conv");
  ASSERT_EQ(g.operations.size(), 4u);
  EXPECT_EQ(ModesOf(g), (std::vector<PointwiseMode>{PointwiseMode::kMul, PointwiseMode::kNeg,
                                                    PointwiseMode::kAdd}));
  for (size_t i = 1; i < g.operations.size(); ++i) {
    EXPECT_EQ(g.operations[i].in[0], g.operations[i - 1].out);
  }
}

TEST_F(LowerTest, GroupsAndTransposedConvolutions) {
  const CudnnGraph grouped = LowerLargest(
      "g (float[2,16,9,9] x, float[16,4,3,3] w0) => (y) { y = Conv<group = 4>(x, w0) }", "Conv");
  EXPECT_EQ(grouped.tensors[grouped.operations[0].in[1]].dims, (Dims{16, 4, 3, 3}));
  const CudnnGraph transposed = LowerLargest(
      "g (float[2,16,9,9] x, float[16,8,2,2] w0) => (y)"
      "{ y = ConvTranspose<strides = [2,2]>(x, w0) }",
      "ConvTranspose");
  EXPECT_EQ(transposed.operations[0].kind, Kind::kTransposeConvolution);
  EXPECT_EQ(transposed.tensors[transposed.operations[0].in[1]].dims, (Dims{16, 8, 2, 2}));
  EXPECT_EQ(transposed.tensors[transposed.operations[0].out].dims, (Dims{2, 8, 18, 18}));
}

TEST_F(LowerTest, ALoneSpatialDimIsTheLast) {
  const CudnnGraph g = LowerLargest(
      "g (float[2,16,9] x, float[16,16,3] w0) => (y) { y = Conv<pads = [1,1]>(x, w0) }", "Conv");
  ExpectLayout(g.tensors[g.operations[0].in[0]], {2, 16, 1, 9}, {144, 1, 144, 16});
  EXPECT_EQ(g.operations[0].window.pad_before, (std::vector<int64_t>{0, 1}));
}

TEST_F(LowerTest, BoundsAreOneRelu) {
  const CudnnGraph g = LowerLargest(
      "g (float[2,8,4,4] x) => (y) { l = Constant<value = float {-1.0}>()\n"
      "h = Constant<value = float {6.0}>()\n y = Clip(x, l, h) }",
      "Clip");
  ASSERT_EQ(ModesOf(g), (std::vector<PointwiseMode>{PointwiseMode::kRelu}));
  EXPECT_EQ(g.operations[0].lower, -1);
  EXPECT_EQ(g.operations[0].upper, 6);
  const CudnnGraph upper = LowerLargest(
      "g (float[2,8,4,4] x) => (y) { h = Constant<value = float {6.0}>() y = Clip(x, , h) }",
      "Clip");
  ASSERT_EQ(ModesOf(upper), (std::vector<PointwiseMode>{PointwiseMode::kNeg, PointwiseMode::kRelu,
                                                        PointwiseMode::kNeg}));
  EXPECT_EQ(upper.operations[1].lower, -6);
  const CudnnGraph leaky =
      LowerLargest("g (float[2,8,4,4] x) => (y) { y = LeakyRelu<alpha = 0.5>(x) }", "LeakyRelu");
  EXPECT_EQ(leaky.operations[0].slope, 0.5);
}

TEST_F(LowerTest, GemmScalesAroundItsAddend) {
  const CudnnGraph g = LowerLargest(
      "g (float16[64,128] x, float16[256,128] w0, float16[256] w1) => (y)"
      "{ y = Gemm<transB = 1, alpha = 3.0, beta = 0.5>(x, w0, w1) }",
      "Gemm");
  const CudnnTensor& b = g.tensors[g.operations[0].in[1]];
  ExpectLayout(b, {1, 128, 256}, {32768, 1, 128});
  EXPECT_EQ(ModesOf(g), (std::vector<PointwiseMode>{PointwiseMode::kMul, PointwiseMode::kAdd,
                                                    PointwiseMode::kMul}));
  EXPECT_EQ(g.tensors[g.operations[1].in[1]].number, 6);
  EXPECT_EQ(g.tensors[g.operations[2].in[1]].dims, (Dims{1, 1, 256}));
  EXPECT_EQ(g.tensors[g.operations[3].in[1]].number, 0.5);
}

TEST_F(LowerTest, PoolingWithCeilPadsTheEnd) {
  const CudnnGraph g = LowerCeilPool("");
  EXPECT_EQ(g.operations[0].window.pad_behind, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(g.tensors[g.operations[0].out].dims, (Dims{1, 8, 56, 56}));
}

// Windows begin one pixel before the image; the last one of an axis ends two pixels after it.
TEST_F(LowerTest, PoolingWithCeilKeepsThePaddingBefore) {
  const CudnnGraph g = LowerCeilPool(", pads = [1,1,1,1]");
  EXPECT_EQ(g.operations[0].window.pad_before, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(g.operations[0].window.pad_behind, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(g.tensors[g.operations[0].out].dims, (Dims{1, 8, 57, 57}));
}

TEST_F(LowerTest, NormalizesRows) {
  const CudnnGraph g = LowerLargest(
      "g (float16[8,16,64] x, float16[64] w0, float16[64] w1) => (y)"
      "{ y = LayerNormalization(x, w0, w1) }",
      "LayerNormalization");
  EXPECT_EQ(g.tensors[g.operations[0].in[0]].dims, (Dims{128, 64, 1, 1}));
  EXPECT_EQ(g.tensors[g.operations[0].in[1]].dims, (Dims{1, 64, 1, 1}));
  EXPECT_EQ(g.operations[0].in.size(), 4u);
}

TEST_F(LowerTest, AMeanSumsParts) {
  const CudnnGraph g = LowerLargest(
      "g (float[8,64,4,4] x) => (y) { c = Constant<value = int64[2] {2,3}>()\n"
      "y = ReduceMean<keepdims = 0>(x, c) }",
      "ReduceMean");
  ASSERT_EQ(g.operations.size(), 2u);
  EXPECT_EQ(g.tensors[g.operations[0].in[0]].dims, (Dims{512, 16, 1, 1}));
  EXPECT_EQ(g.tensors[g.operations[0].in[1]].number, 0.0625F);
  EXPECT_EQ(g.tensors[g.operations[1].out].dims, (Dims{512, 1, 1, 1}));
}

}  // namespace
}  // namespace onnx_cudnn

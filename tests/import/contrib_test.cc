#include "runtime/import/contrib.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/build_program.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

std::string Text(std::string_view graph) {
  return absl::StrCat(
      "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1, "
      "\"ai.onnx.preview\" : 1, \"ai.onnx.preview.training\" : 1]>\n",
      graph);
}

std::string Model(std::string_view border, std::string_view nodes) {
  return Text(absl::StrCat("g ", border, " { ", nodes, " }"));
}

// The Nodes that `node` becomes, printed.
void ExpectNodes(std::string_view border, std::string_view node,
                 const std::vector<std::string>& expected) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(Model(border, node));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph);
  std::vector<std::string> lines;
  for (const Node* n : graph->TopologicalOrder()) {
    EXPECT_EQ(n->domain(), "");
    EXPECT_EQ(n->opset(), kNewestOpset);
    lines.push_back(Print(*n));
  }
  EXPECT_EQ(absl::StrJoin(lines, "\n"), absl::StrJoin(expected, "\n"));
}

void ExpectRefusal(std::string_view border, std::string_view node, absl::StatusCode code,
                   std::string_view message) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(Model(border, node));
  EXPECT_EQ(graph.status().code(), code) << graph.status();
  EXPECT_TRUE(absl::StrContains(graph.status().message(), message)) << graph.status();
}

HostTensor Floats(Dims dims, std::vector<float> values) {
  return HostTensor::Of<float>(DType::kF32, std::move(dims), values);
}

// The first output of the graph in `text`, of floats.
std::vector<float> Computed(std::string_view text, std::vector<HostTensor> inputs) {
  const Graph graph = GraphFromText(text);
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  const absl::StatusOr<Graph> bound = BindShapes(graph, {}, {});
  if (!bound.ok()) {
    ADD_FAILURE() << bound.status();
    return {};
  }
  const absl::StatusOr<std::vector<HostTensor>> outputs = Evaluate(*bound, inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return {};
  }
  const absl::Span<const float> data = (*outputs)[0].data<float>();
  return {data.begin(), data.end()};
}

constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ContribTest, ReplacesActivations) {
  const std::string border = "(float[2,3] x, float[3] b) => (float[2,3] y)";
  ExpectNodes("(float[2,3] x) => (float[2,3] y)", "y = com.microsoft.Gelu(x)", {"y = Gelu(x)"});
  ExpectNodes(border, "y = com.microsoft.BiasGelu(x, b)", {"add = Add(x, b)", "y = Gelu(add)"});
  ExpectNodes(border, "y = com.microsoft.FastGelu(x, b)",
              {"add = Add(x, b)", "y = Gelu<approximate = \"tanh\">(add)"});
}

TEST(ContribTest, TransposesOperandsOfAFusedMatMul) {
  ExpectNodes("(float[2,N,5,3] a, float[N,5,3,4] b) => (float[N,5,2,4] y)",
              "y = com.microsoft.FusedMatMul<transBatchA = 1, alpha = 0.5>(a, b)",
              {"transpose = Transpose<perm = [1, 2, 0, 3]>(a)", "matmul = MatMul(transpose, b)",
               "y = Mul(matmul, {0.5})"});
  ExpectNodes("(float[3,2] a, float[4,3] b) => (float[2,4] y)",
              "y = com.microsoft.FusedMatMul<transA = 1, transB = 1>(a, b)",
              {"transpose = Transpose<perm = [1, 0]>(a)",
               "transpose_0 = Transpose<perm = [1, 0]>(b)", "y = MatMul(transpose, transpose_0)"});
}

TEST(ContribTest, SeparatesActivationsOfProducts) {
  ExpectNodes("(float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y)",
              "y = com.microsoft.FusedGemm<activation = \"LeakyRelu\", activation_alpha = 0.25>"
              "(a, b, c)",
              {"gemm = Gemm(a, b, c)", "y = LeakyRelu<alpha = 0.25>(gemm)"});
  ExpectNodes("(float[1,1,4] x, float[2,1,3] w, float[1,2,2] z) => (float[1,2,2] y)",
              "y = com.microsoft.FusedConv<activation = \"Relu\">(x, w, , z)",
              {"conv = Conv(x, w)", "add = Add(conv, z)", "y = Relu(add)"});
}

TEST(ContribTest, ActivatesTheScaledProductOfAFusedMatMulActivation) {
  ExpectNodes("(float[2,3] a, float[4,3] b) => (float[2,4] y)",
              "y = com.microsoft.FusedMatMulActivation<transB = 1, alpha = 0.5, "
              "activation = \"Elu\", activation_alpha = 0.25>(a, b)",
              {"transpose = Transpose<perm = [1, 0]>(b)", "matmul = MatMul(a, transpose)",
               "mul = Mul(matmul, {0.5})", "y = Elu<alpha = 0.25>(mul)"});
  ExpectRefusal("(float[2,3] a, float[3,4] b) => (y)",
                "y = com.microsoft.FusedMatMulActivation<activation = \"Softmax\", "
                "activation_axis = 1>(a, b)",
                kUnimplemented, "attribute \"activation\" = \"Softmax\"");
}

TEST(ContribTest, KeepsAnInverse) {
  const std::string text =
      Model("(float[2,2,2] x) => (float[2,2,2] y)", "r = com.microsoft.Inverse(x) y = Relu(r)");
  const std::vector<float> found = Computed(text, {Floats({2, 2, 2}, {1, 2, 3, 4, 0, 2, -4, 0})});
  const std::vector<float> expected = {0, 1, 1.5, 0, 0, 0, 0.5, 0};
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
  const absl::StatusOr<Graph> folded = BindShapes(
      GraphFromText(
          Text("g () => (float[1,1] y) <float[1,1] x = {4}> { y = com.microsoft.Inverse(x) }")),
      {}, {});
  ASSERT_TRUE(folded.ok()) << folded.status();
  for (const Node* node : folded->TopologicalOrder()) EXPECT_NE(node->op(), "Inverse");
  ExpectRefusal("(float[2,3] x) => (y)", "y = com.microsoft.Inverse(x)", kInvalid,
                "X is f32[2,3], expected square matrices");
  ExpectRefusal("(float[3] x) => (y)", "y = com.microsoft.Inverse(x)", kInvalid,
                "expected square matrices");
  ExpectRefusal("(float[3,3] x) => (y)", "y = com.microsoft.Inverse<upper = 1>(x)", kUnimplemented,
                "\"upper\"");
  ExpectRefusal("() => (y)", "y = com.microsoft.Inverse()", kInvalid, "input 0");
}

TEST(ContribTest, MovesTheChannelsOfAnNhwcConv) {
  ExpectNodes("(float[1,4,5,2] x, float[3,2,1,1] w, float[3] b) => (float[1,4,5,3] y)",
              "y = com.microsoft.NhwcConv(x, w, b)",
              {"transpose = Transpose<perm = [0, 3, 1, 2]>(x)", "conv = Conv(transpose, w, b)",
               "transpose_0 = Transpose<perm = [0, 2, 3, 1]>(conv)"});
  // One pixel of channels 2 and 3, weights 10 and 100: 320 - 1000 with the added tensor.
  EXPECT_EQ(Computed(Model("(float[1,1,1,2] x, float[1,2,1,1] w, float[1,1,1,1] z) => (y)",
                           "y = com.microsoft.NhwcFusedConv<activation = \"LeakyRelu\", "
                           "activation_params = [0.5]>(x, w, , z)"),
                     {Floats({1, 1, 1, 2}, {2, 3}), Floats({1, 2, 1, 1}, {10, 100}),
                      Floats({1, 1, 1, 1}, {-1000})}),
            (std::vector<float>{-340}));
}

TEST(ContribTest, MovesTheChannelsOfAnNhwcMaxPool) {
  ExpectNodes("(uint8[1,4,5,3] x) => (uint8[1,2,4,3] y)",
              "y = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2], strides = [2, 1]>(x)",
              {"transpose = Transpose<perm = [0, 3, 1, 2]>(x)",
               "maxpool = MaxPool<kernel_shape = [2, 2], strides = [2, 1]>(transpose)",
               "y = Transpose<perm = [0, 2, 3, 1]>(maxpool)"});
  // The larger of two pixels, by channel.
  EXPECT_EQ(Computed(Model("(float[1,1,2,2] x) => (y)",
                           "y = com.microsoft.NhwcMaxPool<kernel_shape = [1, 2]>(x)"),
                     {Floats({1, 1, 2, 2}, {1, 8, 5, 3})}),
            (std::vector<float>{5, 8}));
  ExpectRefusal("(uint8[4,5] x) => (y)", "y = com.microsoft.NhwcMaxPool<kernel_shape = [2]>(x)",
                kInvalid, "expected rank 3 or more, found 2");
}

// Two groups of one channel with two pixels each: ±1, scaled.
TEST(ContribTest, NormalizesGroupsInEitherLayout) {
  const std::string attributes = "groups = 2, activation = 0, epsilon = 0.0";
  const std::vector<HostTensor> scales = {Floats({2}, {10, 100}), Floats({2}, {0, 5})};
  EXPECT_EQ(Computed(Model("(float[1,1,2,2] x, float[2] g, float[2] b) => (y)",
                           absl::StrCat("y = com.microsoft.GroupNorm<", attributes, ">(x, g, b)")),
                     {Floats({1, 1, 2, 2}, {1, 6, 3, 2}), scales[0], scales[1]}),
            (std::vector<float>{-10, 105, 10, -95}));
  EXPECT_EQ(Computed(Model("(float[1,2,1,2] x, float[2] g, float[2] b) => (y)",
                           absl::StrCat("y = com.microsoft.GroupNorm<channels_last = 0, ",
                                        attributes, ">(x, g, b)")),
                     {Floats({1, 2, 1, 2}, {1, 3, 6, 2}), scales[0], scales[1]}),
            (std::vector<float>{-10, 10, 105, -95}));
  ExpectRefusal("(float[1,2,1,2] x, float[2] g, float[2] b) => (y)",
                "y = com.microsoft.GroupNorm<groups = 1, activation = 2>(x, g, b)", kInvalid,
                "\"activation\" = 2, expected 0 or 1");
}

// The sums are those of the test above; SiLU of a large number is the number, or 0.
TEST(ContribTest, AddsASkipBeforeGroups) {
  const std::string node =
      "y, s = com.microsoft.SkipGroupNorm<groups = 2, activation = 1, epsilon = 0.0>(x, g, b, k, "
      "c)";
  for (const char* skip : {"float[1,2] k", "float[1,1,1,2] k"}) {
    SCOPED_TRACE(skip);
    const Dims skip_dims = std::string_view(skip).size() == 12 ? Dims{1, 2} : Dims{1, 1, 1, 2};
    EXPECT_EQ(Computed(Model(absl::StrCat("(float[1,1,2,2] x, float[2] g, float[2] b, ", skip,
                                          ", float[2] c) => (y, s)"),
                             node),
                       {Floats({1, 1, 2, 2}, {-9, 4, -7, 0}), Floats({2}, {1000, 1000}),
                        Floats({2}, {0, 0}), Floats(skip_dims, {7, 1}), Floats({2}, {3, 1})}),
              (std::vector<float>{-0.0f, 1000, 1000, -0.0f}));
  }
}

TEST(ContribTest, GivesTheSumOfASkip) {
  ExpectNodes("(float[B,S,8] x, float[B,S,8] s, float[8] g, float[8] b) => (y, sum)",
              "y, , , sum = com.microsoft.SkipLayerNormalization<epsilon = 0.5>(x, s, g, b)",
              {"add = Add(x, s)", "y = LayerNormalization<axis = -1, epsilon = 0.5>(add, g, b)"});
}

TEST(ContribTest, TakesWhatOnnxruntimeAddsToOnnxsDomain) {
  ExpectNodes("(float[2,8] x, float[8] s) => (float[2,8] y)",
              "y = SimplifiedLayerNormalization<epsilon = 0.5>(x, s)",
              {"y = RMSNormalization<axis = -1, epsilon = 0.5>(x, s)"});
}

TEST(ContribTest, ComputesQuantizedOpsInFloats) {
  ExpectNodes("(uint8[4] a, float s, uint8 z) => (uint8[4] y)",
              "y = com.microsoft.QLinearSigmoid(a, s, z, s, z)",
              {"dequantizelinear = DequantizeLinear(a, s, z)",
               "sigmoid = Sigmoid(dequantizelinear)", "y = QuantizeLinear(sigmoid, s, z)"});
}

TEST(ContribTest, KeepsBatchAndLengthsSymbolic) {
  const Graph graph =
      GraphFromText(Model("(float[B,S,8] q, float[B,L,8] k, float[B,L,8] v, int32[B,L] m) => (y)",
                          "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, , m)"));
  EXPECT_EQ(ToString(graph.outputs()[0].value->type()), "f32[B,S,8]");
}

// Two tensors whose gradients are 1 and 2, after one update: x - 0.5 · momentum, where the momentum
// is 0.5 · 4 + 3 · gradient.
TEST(ContribTest, UpdatesEachTensorOfAnOptimizer) {
  const std::string text = Model(
      "(float r, int64 t, float[1] x, float[2] z, float[1] g, float[2] h, float[1] v, float[2] w) "
      "=> (x2, z2, v2, w2)",
      "x2, z2, v2, w2 = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 3.0, "
      "mode = \"standard\", norm_coefficient = 0.0>(r, t, x, z, g, h, v, w)");
  const std::vector<HostTensor> inputs = {
      Floats({}, {0.5}), HostTensor::Of<int64_t>(DType::kI64, {}, {1}),
      Floats({1}, {10}), Floats({2}, {20, 30}),
      Floats({1}, {1}),  Floats({2}, {2, 2}),
      Floats({1}, {4}),  Floats({2}, {4, 0})};
  const Graph graph = GraphFromText(text);
  const absl::StatusOr<std::vector<HostTensor>> outputs = Evaluate(graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<std::vector<float>> expected = {{7.5}, {16, 27}, {5}, {8, 6}};
  for (size_t i = 0; i < expected.size(); ++i) {
    const absl::Span<const float> data = (*outputs)[i].data<float>();
    EXPECT_EQ(std::vector<float>(data.begin(), data.end()), expected[i]) << i;
  }
}

// Exporters compute the segments, and Attention needs to know that the mask has their batch.
TEST(ContribTest, AnEmbeddingHasTheBatchAndTheLengthOfItsWords) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(
      Model("(int32[N,L] words, int32[A,B] segments, int32[N,L] mask, float[9,8] e, float[8] s, "
            "float[8,24] w, float[24] b) => (float[P,Q,8] y)",
            "h, m = com.microsoft.EmbedLayerNormalization(words, segments, e, e, e, s, s, mask)  "
            "y = com.microsoft.Attention<num_heads = 2>(h, w, b, m)"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToString(graph->outputs()[0].value->type()), "f32[N,L,8]");
}

// Queries are 0, so that each of three tokens gives the mean of its sequence: {1, 10}, and {6, 20}
// of {4, 15} and {8, 25}.
const std::vector<float> kMeansOfTwoSequences = {1, 10, 6, 20, 6, 20};

HostTensor Indices(Dims dims, std::vector<int32_t> values) {
  return HostTensor::Of<int32_t>(DType::kI32, std::move(dims), values);
}

TEST(ContribTest, PackedTokensAttendWithinTheirSequence) {
  const std::string border = "int32[2,2] offsets, int32[3] ends) => (y)";
  const HostTensor offsets = Indices({2, 2}, {0, 2, 3, 1}), ends = Indices({3}, {0, 1, 3});
  const HostTensor values = Floats({3, 2}, {1, 10, 4, 15, 8, 25});
  const HostTensor nothing = Floats({3, 2}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(Computed(Model(absl::StrCat("(float[3,2] x, float[2,6] w, float[6] b, ", border),
                           "y = com.microsoft.PackedAttention<num_heads = 1>(x, w, b, offsets, "
                           "ends)"),
                     {values, Floats({2, 6}, {0, 0, 1, 2, 1, 0, 0, 0, 3, 4, 0, 1}),
                      Floats({6}, {0, 0, 5, 6, 0, 0}), offsets, ends}),
            kMeansOfTwoSequences);
  EXPECT_EQ(Computed(Model(absl::StrCat("(float[3,2] q, float[3,2] k, float[3,2] v, float[6] b, ",
                                        border),
                           "y = com.microsoft.PackedMultiHeadAttention<num_heads = 2>(q, k, v, b, "
                           "offsets, ends)"),
                     {nothing, values, nothing, Floats({6}, {0, 0, 0, 0, 7, 9}), offsets, ends}),
            (std::vector<float>{7, 9, 7, 9, 7, 9}));
  EXPECT_EQ(
      Computed(Model(absl::StrCat("(float[3,1,3,2] qkv, ", border),
                     "y = com.microsoft.PackedMultiHeadAttention<num_heads = 1>(qkv, , , , "
                     "offsets, ends)"),
               {Floats({3, 1, 3, 2}, {0, 0, 1, 2, 1, 10, 0, 0, 3, 4, 4, 15, 0, 0, 5, 6, 8, 25}),
                offsets, ends}),
      kMeansOfTwoSequences);
  ExpectRefusal(absl::StrCat("(float[T,2] q, float[1,1,2,2] bias, ", border),
                "y = com.microsoft.PackedMultiHeadAttention<num_heads = 1>(q, q, q, , offsets, "
                "ends, bias)",
                kUnimplemented, "input 6 is not implemented");
}

// Gates i, o, f and c of one step from a cell of 3: i is 0, f is 1, and o is 1, for very large
// numbers. The weights are 100 · (q - 5), transposed.
TEST(ContribTest, DequantizesTheWeightsOfAnLstm) {
  const auto cell = [](std::string_view constants, std::string_view weights) {
    return Computed(
        Model(absl::StrCat("(float[1,1,1] x, float[1,1,1] h, float[1,1,1] c) => (c2) <", constants,
                           ">"),
              absl::StrCat(", , c2 = com.microsoft.DynamicQuantizeLSTM<hidden_size = 1>(x, ",
                           weights, ", , , h, c, , s, z, s, z)")),
        {Floats({1, 1, 1}, {9}), Floats({1, 1, 1}, {1}), Floats({1, 1, 1}, {3})});
  };
  EXPECT_EQ(cell("int8[1,1,4] w = {4, 6, 6, 6}, int8[1,1,4] r = {5, 5, 5, 5}, "
                 "float[1] s = {100}, int8[1] z = {5}",
                 "w, r"),
            (std::vector<float>{3}));
  // With a scale by column: i is 1 and f is 0.
  EXPECT_EQ(cell("int8[1,1,4] w = {1, 1, 1, 1}, float[1,4] s = {100, 0, -100, 100}, "
                 "int8[1,4] z = {0, 0, 0, 0}",
                 "w, w"),
            (std::vector<float>{1}));
}

// Values are 1 and 3; the body makes scores equal, and then the probabilities 3 / 2 each.
TEST(ContribTest, AppliesTheBodiesOfFlexAttention) {
  EXPECT_EQ(Computed(Model("(float[1,1,1,1] q, float[1,1,2,1] k, float[1,1,2,1] v, float three) "
                           "=> (float[1,1,1,1] y)",
                           R"(zero = Constant<value = float {0}>()
                              y = ai.onnx.preview.FlexAttention<
                                score_mod = s (float[1,1,1,2] a) => (float[1,1,1,2] b)
                                  { b = Mul(a, zero) },
                                prob_mod = p (float[1,1,1,2] c) => (float[1,1,1,2] d)
                                  { d = Mul(c, three) }>(q, k, v))"),
                     {Floats({1, 1, 1, 1}, {2}), Floats({1, 1, 2, 1}, {5, 7}),
                      Floats({1, 1, 2, 1}, {1, 3}), Floats({}, {3})}),
            (std::vector<float>{6}));
}

TEST(ContribTest, ComputesTheMeanOfAQuantizedTensor) {  // 2 · (1 + 2 + 6) / 3 = 6, as 6 / 3 + 10
  const std::string text = Model(
      "(uint8[3] x) => (float[1] y) <float s = {2}, uint8 z = {1}, float t = {3}, uint8 u = {10}>",
      "m = com.microsoft.QLinearReduceMean<axes = [0], keepdims = 1>(x, s, z, t, u) "
      "y = Cast<to = 1>(m)");
  EXPECT_EQ(Computed(text, {HostTensor::Of<uint8_t>(DType::kU8, {3}, {2, 3, 7})}),
            (std::vector<float>{12}));
}

TEST(ContribTest, MultipliesTheHalvesOfABiasSplitGelu) {  // Gelu of large numbers is the number
  EXPECT_EQ(Computed(Model("(float[1,1,4] x, float[4] b) => (float[1,1,2] y)",
                           "y = com.microsoft.BiasSplitGelu(x, b)"),
                     {Floats({1, 1, 4}, {1, 2, 90, 95}), Floats({4}, {1, 1, 10, 5})}),
            (std::vector<float>{200, 300}));
}

TEST(ContribTest, RefusesWhatItDoesNotReplace) {
  const std::string x = "(float[2] x) => (float[2] y)";
  ExpectRefusal(x, "y = com.microsoft.Tokenizer(x)", kUnimplemented,
                "com.microsoft.Tokenizer (opset 1) on f32: the op is not implemented");
  ExpectRefusal(x, "y = com.microsoft.QuickGelu<beta = 2.0>(x)", kUnimplemented,
                "attribute \"beta\" = 2.0 is not implemented");
  ExpectRefusal(x, "y = com.microsoft.QuickGelu<alpha = 2>(x)", kInvalid,
                "attribute \"alpha\" = 2 is of another type than the op's");
  ExpectRefusal(x, "y = com.microsoft.Gelu(x, x)", kUnimplemented, "input 1 is not implemented");
  ExpectRefusal(x, "y, z = com.microsoft.Gelu(x)", kUnimplemented, "output 1 is not implemented");
  ExpectRefusal("(float a, float[2] b) => (y)", "y = com.microsoft.Range(a, b)", kInvalid,
                "\"b\" has 2 elements, expected 1");
  ExpectRefusal(x, "y = com.microsoft.BiasGelu(x)", kInvalid, "input 1 is missing");
}

TEST(ContribTest, RefusesFormsOfAttentionThatAreNotReplaced) {
  const std::string border = "(float[2,3,8] x, float[8,24] w, float[24] b, int32[8] m) => (y)";
  const std::string node = "y = com.microsoft.Attention<num_heads = 2";
  ExpectRefusal(border, node + ", do_rotary = 1>(x, w, b)", kUnimplemented,
                "attribute \"do_rotary\" = 1 is not implemented");
  ExpectRefusal(border, node + ">(x, w, b, m)", kUnimplemented,
                "a mask i32[8] for 2 batches is not implemented");
  ExpectRefusal("(float[2,3,D] x, float[D,D] w, float[D] b) => (y)", node + ">(x, w, b)",
                kUnimplemented, "extent -1 of \"w\" is not a number");
  ExpectRefusal("(float[2,3,8] q, float[2,4,8] k) => (y)",
                "y = com.microsoft.MultiHeadAttention<num_heads = 2, unidirectional = 1>(q, k, k)",
                kUnimplemented, "attribute \"unidirectional\" for 3 queries and 4 keys");
}

TEST(ContribTest, RefusesWeightsThatAreNotConstant) {
  ExpectRefusal("(float[2,16] x, uint8[4,1,8] w, float[4,1] s) => (y)",
                "y = com.microsoft.MatMulNBits<K = 16, N = 4, block_size = 16>(x, w, s)",
                kUnimplemented, "input 1 is not a constant");
}

TEST(ContribTest, RefusesAnOptimizerWithOtherCounts) {
  ExpectRefusal("(float r, int64 t, float[1] x, float[1] g) => (y)",
                "y = ai.onnx.preview.training.Adam(r, t, x, g)", kInvalid,
                "has 2 tensors, expected a multiple of 4");
}

}  // namespace
}  // namespace onnx_cudnn

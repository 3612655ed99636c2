#include "runtime/graph/infer.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/graph/merge_types.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

Type Symbolic(DType dtype, std::vector<Dim> dims) {
  return {.kind = Type::Kind::kTensor, .dtype = dtype, .ranked = true, .dims = std::move(dims)};
}

// The type of `text`'s first output, after inference alone.
std::string Inferred(std::string_view text) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(text);
  if (!graph.ok()) return graph.status().ToString();
  return ToString(graph->outputs()[0].value->type());
}

TEST(InferTest, FollowsShapesAndSymbols) {
  EXPECT_EQ(Inferred("g (float[N,3,8,8] x, float[4,3,3,3] w) => (y) { y = Conv(x, w) }"),
            "f32[N,4,6,6]");
  EXPECT_EQ(Inferred("g (float[N,3] x, float[3] b) => (y) { y = Add(x, b) }"), "f32[N,3]");
}

TEST(InferTest, ReadsConstantsAndComputedShapes) {
  EXPECT_EQ(Inferred("g (float[2,6] x) => (y) <int64[2] s = {3, -1}> { y = Reshape(x, s) }"),
            "f32[3,4]");
  EXPECT_EQ(Inferred(R"(g (float[N,3,4] x) => (y) <int64[1] zero = {0}, int64[1] rest = {12}> {
                          s = Shape(x)  n = Gather(s, zero)  t = Concat<axis = 0>(n, rest)
                          y = Reshape(x, t) })"),
            "f32[N,12]");
}

// ONNX's function for Unsqueeze passes elements on whatever the rank.
TEST(InferTest, TakesAColumnForNoVector) {
  EXPECT_EQ(Inferred(R"(g (int64[2] a, int64[5] b) => (y) <int64[1] one = {1}> {
                          column = Unsqueeze(a, one)  y = Add(column, b) })"),
            "i64[2,5]");
}

TEST(InferTest, KeepsEqualUnknownsEqual) {
  Graph graph;
  Value& x = graph.AddInput("x", Symbolic(DType::kF32, {{}, {.value = 3}}));
  Node& relu = graph.AddNode({.op = "Relu", .inputs = {&x}});
  Node& neg = graph.AddNode({.op = "Neg", .inputs = {&x}});
  ASSERT_TRUE(InferShapes(graph).ok());
  const Dim& dim = relu.output(0).type().dims[0];
  EXPECT_TRUE(dim.made_up());
  EXPECT_EQ(dim, neg.output(0).type().dims[0]);
  EXPECT_EQ(ToString(relu.output(0).type()), "f32[?,3]");
}

TEST(InferTest, GivesUnrelatedUnknownsDifferentSymbols) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {4}));
  Node& a = graph.AddNode({.op = "NonZero", .inputs = {&x}});
  Node& b = graph.AddNode({.op = "NonZero", .inputs = {&x}});
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_NE(a.output(0).type().dims[1], b.output(0).type().dims[1]);
}

TEST(InferTest, RefusesAContradiction) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2, 3}));
  Node& relu = graph.AddNode({.op = "Relu", .inputs = {&x}, .outputs = {"y"}, .name = "n"});
  graph.SetType(relu.output(0), Type::Tensor(DType::kF32, {2, 4}));
  EXPECT_EQ(InferShapes(graph).ToString(),
            "INVALID_ARGUMENT: node \"n\" (Relu): value \"y\": type is f32[2,3] by its op, "
            "declared f32[2,4]");
}

TEST(InferTest, RefusesWhatTheOpDoesNotAllow) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2, 3}));
  Value& z = graph.AddInput("z", Type::Tensor(DType::kF32, {4, 5}));
  graph.AddNode({.op = "MatMul", .inputs = {&x, &z}, .name = "n"});
  const absl::Status status = InferShapes(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StartsWith(status.message(), "node \"n\" (MatMul): ")) << status;
}

TEST(InferTest, TakesTheTypeOfTheInputWhereOnnxHasNoFunction) {
  EXPECT_EQ(Inferred("g (float[N,4,5] x, float[4] s, float[4] b) => (y)"
                     " { y = GroupNormalization<num_groups = 2>(x, s, b) }"),
            "f32[N,4,5]");
  EXPECT_EQ(Inferred("g (float[2,4,5,6] x) => (y) { y = MeanVarianceNormalization(x) }"),
            "f32[2,4,5,6]");
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& node = graph.AddNode({.op = "Reformat", .inputs = {&x}, .domain = std::string(kOwnDomain)});
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(node.output(0).type(), x.type());
}

TEST(InferTest, FollowsTheSpecificationWhereOnnxsFunctionsDoNot) {
  EXPECT_EQ(Inferred("g (float[1,2,3] x, float[2,4,5] w) => (y) { y = ConvTranspose"
                     "<auto_pad = \"SAME_UPPER\", strides = [2], output_padding = [1]>(x, w) }"),
            "f32[1,4,6]");
  EXPECT_EQ(Inferred("g (float[N,2,L] x, float[2,4,5] w) => (y) "
                     "{ y = ConvTranspose<output_shape = [2]>(x, w) }"),
            "f32[N,4,2]");
  EXPECT_EQ(Inferred("g (float[2,3] x, int64[2] i) => (y) { y = GatherND(x, i) }"), "f32[]");
  EXPECT_EQ(Inferred("g (float[2] x, float[2] v) => (y) <float16 d = {16896}>"
                     " { y = OneHot<axis = 0>(x, d, v) }"),
            "f32[3,2]");
  EXPECT_EQ(Inferred("g (float[2] x) => (y) <int64[2] p = {1,1}, float c = {0}, int32[1] a = {0}>"
                     " { y = Pad(x, p, c, a) }"),
            "f32[4]");
  EXPECT_EQ(Inferred("g (float[2] x) => (y) <int64[0] p = {}, float c = {0}, int64[0] a = {}>"
                     " { y = Pad(x, p, c, a) }"),
            "f32[2]");
  EXPECT_EQ(
      Inferred("g (float[2] x) => (y, z, w, v) { y, z, w, v = Split<num_outputs = 4>(x) }"),
      "INVALID_ARGUMENT: model: node (Split): num_outputs is 4, of axis 0 of f32[2] there are "
      "fewer");
  EXPECT_EQ(Inferred("g () => (y) <float a = {-2.96}, float b = {-0.37}, float d = {0.518}>"
                     " { y = Range(a, b, d) }"),
            "f32[5]");
}

TEST(InferTest, GivesBodiesTheTypesOfWhatTheyCapture) {
  EXPECT_EQ(Inferred(R"(g (bool c, float[N,3] x) => (y) {
                          s = Shape(x)
                          y = If<then_branch = th () => (u) { f = Flatten<axis = 0>(x) u = Reshape(f, s) },
                                 else_branch = el () => (v) { v = Neg(x) }>(c) })"),
            "f32[N,3]");
}

// The error message of a Graph with one node, without its status code.
std::string Contradiction(std::string_view text) {
  const absl::Status status = TryGraphFromText(text).status();
  return std::string(absl::StripPrefix(status.message(), "model: "));
}

TEST(InferTest, RefusesAWindowLargerThanThePaddedInput) {
  EXPECT_EQ(Contradiction("g (float[1,2,3,4] x, float[8,2,3,6] w) => (y) "
                          "{ y = Conv<pads = [0, 0, 0, 1]>(x, w) }"),
            "node (Conv): its window of 6 (kernel 6, dilation 1) is larger than the padded input "
            "of 5 (extent 4, pads 0 and 1) along spatial axis 1 of f32[1,2,3,4]");
  EXPECT_EQ(Contradiction("g (float[1,1,4] x) => (y) "
                          "{ y = MaxPool<kernel_shape = [3], dilations = [2]>(x) }"),
            "node (MaxPool): its window of 5 (kernel 3, dilation 2) is larger than the padded "
            "input of 4 (extent 4, pads 0 and 0) along spatial axis 0 of f32[1,1,4]");
  // ONNX's function rounds the missing part up to one output.
  EXPECT_NE(Contradiction("g (float[1,1,2] x) => (y) "
                          "{ y = MaxPool<kernel_shape = [3], strides = [2]>(x) }"),
            "");
}

TEST(InferTest, TakesAWindowThatEndsAfterTheInputInCeilMode) {
  EXPECT_EQ(Inferred("g (float[1,1,2] x) => (y) "
                     "{ y = MaxPool<kernel_shape = [3], strides = [2], ceil_mode = 1>(x) }"),
            "f32[1,1,1]");
}

TEST(InferTest, RefusesNegativeExtents) {
  EXPECT_EQ(Contradiction("g (float[2,1] x) => (y) <int64[1] s = {-5}> { y = Expand(x, s) }"),
            "node (Expand): output \"y\" would have the extent -5 on axis 1: "
            "y = Expand(x, {-5}) of f32[2,1], i64[1]");
  EXPECT_EQ(Contradiction("g (float[4] x) => (y, i) <int64[1] k = {-1}> { y, i = TopK(x, k) }"),
            "node (TopK): output \"y\" would have the extent -1 on axis 0: "
            "y, i = TopK(x, {-1}) of f32[4], i64[1]");
  EXPECT_EQ(Contradiction("g (float[1,1,2] x, float[1,1,1] w) => (y) "
                          "{ y = ConvTranspose<pads = [2, 2]>(x, w) }"),
            "node (ConvTranspose): output \"y\" would have the extent -2 on axis 2: "
            "y = ConvTranspose<pads = [2, 2]>(x, w) of f32[1,1,2], f32[1,1,1]");
}

constexpr std::string_view kUnfitBranch = R"(
    g (bool c, float[2,4] x) => (y) <int64[1] first = {0}>
    { y = If(c) <
        then_branch = t () => (u) { s = Squeeze(x, first) u = Relu(s) },
        else_branch = e () => (float[2,4] v) { v = Neg(x) }> })";

TEST(InferTest, LeavesOpenWhatABranchThatDoesNotFitWouldGive) {
  EXPECT_EQ(Inferred(kUnfitBranch), "f32");
  Graph graph = GraphFromText(kUnfitBranch);
  EXPECT_TRUE(InferShapes(graph).ok()) << InferShapes(graph);
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
}

TEST(InferTest, AnIfHasTheDimsThatItsBranchesShare) {
  EXPECT_EQ(Inferred(R"(
      g (bool c, float[2,3] x, float[2,4] z) => (y)
      { y = If(c) <then_branch = t () => (u) { u = Neg(x) },
                   else_branch = e () => (v) { v = Neg(z) }> })"),
            "f32[2,?]");
}

TEST(InferTest, RefusesBranchesOfOtherTypes) {
  EXPECT_EQ(Contradiction(R"(
      g (bool c, float[2] x) => (y)
      { y = If(c) <then_branch = t () => (u) { u = Shape(x) },
                   else_branch = e () => (v) { v = Neg(x) }> })"),
            "node (If): one branch gives f32[2], the other i64[1]");
}

TEST(InferTest, CountsOutputsOfALoopWithTrailingOnesAbsent) {
  EXPECT_EQ(Inferred(R"(g (int64 n, bool c, float[2] x) => (y) {
                          y = Loop<body = b (int64 i, bool ci, float[2] si) => (bool co, float[2] so, float[2] scan)
                            { co = Identity(ci) so = Neg(si) scan = Abs(si) }>(n, c, x) })"),
            "f32");
}

TEST(InferTest, TakesBindingsOfSymbols) {
  Graph graph = GraphFromText("g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Neg(t) }");
  graph.SetType(*graph.inputs()[0], Type::Tensor(DType::kF32, {5, 3}));
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(ToString(graph.outputs()[0].value->type()), "f32[5,3]");
}

TEST(InferTest, IsNearLinearInTheNodes) {
  Graph graph;
  Value* v = &graph.AddInput("x", Symbolic(DType::kF32, {{.symbol = "N"}, {.value = 3}}));
  for (int i = 0; i < 100'000; ++i) v = &graph.AddNode({.op = "Relu", .inputs = {v}}).output(0);
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(ToString(v->type()), "f32[N,3]");
}

TEST(MergeTypesTest, FillsWhatIsOpen) {
  const Type standing =
      Symbolic(DType::kUndefined, {{}, {.symbol = "?7"}, {.symbol = "N"}, {.value = 4}});
  const Type inferred =
      Symbolic(DType::kF16, {{.symbol = "A"}, {.symbol = "B"}, {.symbol = "?8"}, {.symbol = "C"}});
  EXPECT_EQ(ToString(*MergeTypes(standing, inferred)), "f16[A,B,N,4]");
  EXPECT_EQ(ToString(*MergeTypes(inferred, standing)), "f16[A,B,N,4]");
  EXPECT_EQ(*MergeTypes(Type{}, inferred), inferred);
}

TEST(MergeTypesTest, RefusesContradictions) {
  const Type type = Type::Tensor(DType::kF32, {2, 3});
  EXPECT_FALSE(MergeTypes(type, Type::Tensor(DType::kF16, {2, 3})).ok());
  EXPECT_FALSE(MergeTypes(type, Type::Tensor(DType::kF32, {2})).ok());
  EXPECT_FALSE(MergeTypes(type, Type::Tensor(DType::kF32, {2, 4})).ok());
  EXPECT_FALSE(MergeTypes(type, Type{.kind = Type::Kind::kSequence}).ok());
}

}  // namespace
}  // namespace onnx_cudnn

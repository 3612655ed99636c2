// What the fused element-wise kernel takes.
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using PointwiseKernelTest = KernelsTest;
using Lines = std::vector<std::string>;

Graph Chain(int count) {
  Graph graph;
  Value* v = &graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  for (int i = 0; i < count; ++i) v = &Append(graph, "Neg", {v});
  graph.AddOutput("y", *v);
  return graph;
}

TEST_F(PointwiseKernelTest, GrowsThroughReadersAndProducers) {
  const Graph graph = GraphFromText(R"(
      g (float[2] x, float[2] z) => (float[2] y)
      { a = Neg(x)
        b = Mul(a, z)
        y = Relu(b) })");
  EXPECT_EQ(LinesAt(graph, "Mul"), (Lines{"{Mul} rows rows > rows", "{Mul Relu} rows rows > rows",
                                          "{Neg Mul Relu} rows rows > rows"}));
}

TEST_F(PointwiseKernelTest, WritesWhatOthersReadToo) {
  const Graph graph = GraphFromText(R"(
      g (float[2] x) => (float[2] a, float[2] y)
      { a = Neg(x)
        y = Relu(a) })");
  EXPECT_EQ(LinesAt(graph, "Neg"), (Lines{"{Neg} rows > rows", "{Neg Relu} rows > rows rows"}));
}

TEST_F(PointwiseKernelTest, TakesSixteenOps) {
  const Graph graph = Chain(20);
  const Proposed proposed = At(graph, "Neg");
  size_t largest = 0;
  for (const Candidate& c : proposed.candidates) largest = std::max(largest, c.nodes.size());
  EXPECT_EQ(largest, 16u);
  ASSERT_FALSE(proposed.not_fused.empty());
  EXPECT_NE(proposed.not_fused[0].find("as large as"), std::string::npos);
}

TEST_F(PointwiseKernelTest, ProposesFewOfManySizes) {
  const Graph graph = Chain(16);
  EXPECT_LE(LinesAt(graph, "Neg").size(), 6u);
}

TEST_F(PointwiseKernelTest, SharesOneLayoutAmongFullOperands) {  // the scale stays as it is
  const Graph graph = GraphFromText(R"(
      g (float[2,8,3,3] x, float[8,1,1] s) => (float[2,8,3,3] y) { y = Mul(x, s) })");
  EXPECT_EQ(LinesAt(graph, "Mul"), (Lines{"{Mul} rows rows > rows", "{Mul} last rows > last"}));
}

TEST_F(PointwiseKernelTest, PadsChannelsOfFloatsOnly) {
  const Graph graph = GraphFromText(R"(
      g (float16[1,5,3,3] x, bool[1,5,3,3] c) => (float16[1,5,3,3] y, bool[1,5,3,3] d)
      { y = Abs(x)
        d = Not(c) })");
  EXPECT_EQ(LinesAt(graph, "Abs"),
            (Lines{"{Abs} rows > rows", "{Abs} last > last", "{Abs} last4 > last4"}));
  EXPECT_EQ(LinesAt(graph, "Not"), (Lines{"{Not} rows > rows", "{Not} last > last"}));
}

TEST_F(PointwiseKernelTest, LeavesMasksOfOneChannelUnpadded) {
  const Graph graph = GraphFromText(R"(
      g (float[2,6,3,3] x, float[2,1,3,3] m, float[2,6,1,1] s) => (float[2,6,3,3] y)
      { a = Mul(x, m)
        y = Mul(a, s) })");
  EXPECT_EQ(LinesAt(graph, "Mul").back(), "{Mul Mul} last4 rows last4 > last4");
}

TEST_F(PointwiseKernelTest, TakesCastsIntegersAndBools) {
  const Graph graph = GraphFromText(R"(
      g (int64[4] x, int64[4] z) => (float[4] y)
      { a = Equal(x, z)
        y = Cast<to = 1>(a) })");
  EXPECT_EQ(LinesAt(graph, "Equal"),
            (Lines{"{Equal} rows rows > rows", "{Equal Cast} rows rows > rows"}));
}

TEST_F(PointwiseKernelTest, LeavesConversionsFromAndToSmallFloats) {
  const Graph graph = GraphFromText(R"(
      g (float[4] x, float8e5m2[4] l) => (float8e4m3fn[4] y, float[4] z, float8e5m2[4] w)
      { a = Neg(x)
        y = Cast<to = 17>(a)
        z = Cast<to = 1>(l)
        w = CastLike(a, l) })");
  const Proposed neg = At(graph, "Neg");
  EXPECT_EQ(Describe(neg.candidates), (Lines{"{Neg} rows > rows"}));
  EXPECT_EQ(neg.not_fused,
            (Lines{"a to Cast: element-wise kernels compute on f16, bf16, f32, f64, integers of 8 "
                   "to 64 bits and bool",
                   "a to CastLike: element-wise kernels compute on f16, bf16, f32, f64, integers "
                   "of 8 to 64 bits and bool"}));
  for (const char* name : {"y", "z", "w"}) {
    for (const Node* node : graph.TopologicalOrder()) {
      if (node->output(0).name() != name) continue;
      const Proposed proposed = At(graph, *node);
      EXPECT_TRUE(proposed.candidates.empty()) << name;
      ASSERT_EQ(proposed.reasons.size(), 1u) << name;
      EXPECT_NE(proposed.reasons[0].find("does not take f8"), std::string::npos)
          << proposed.reasons[0];
    }
  }
}

TEST_F(PointwiseKernelTest, StopsWhereTheShapeGrows) {
  const Graph graph = GraphFromText(R"(
      g (float[3] x, float[2,3] z) => (float[2,3] y)
      { a = Neg(x)
        y = Add(a, z) })");
  const Proposed smaller = At(graph, "Neg"), larger = At(graph, "Add");
  EXPECT_EQ(Describe(smaller.candidates), (Lines{"{Neg} rows > rows"}));
  EXPECT_EQ(smaller.not_fused,
            (Lines{"a to Add: the node writes another shape than the kernel it would join"}));
  EXPECT_EQ(Describe(larger.candidates), (Lines{"{Add} rows rows > rows"}));
  EXPECT_EQ(larger.not_fused,
            (Lines{"a to Neg: the operand is smaller than what the kernel computes on"}));
}

TEST_F(PointwiseKernelTest, ReportsThatOtherOpsDoNotJoin) {
  const Graph graph =
      GraphFromText("g (float[2,3] x) => (float[2,3] y) { a = Neg(x) y = Softmax(a) }");
  const Proposed proposed = At(graph, "Neg");
  EXPECT_EQ(proposed.not_fused,
            (Lines{"a to Softmax: only element-wise ops join a kernel of ours"}));
}

TEST_F(PointwiseKernelTest, ChecksWhatIsBetween) {
  const Graph graph = GraphFromText(R"(
      g (float[2,3] x) => (float[2,3] y)
      { a = Neg(x)
        b = Hardmax(a)
        y = Relu(b) })");
  const Candidate neg = At(graph, "Neg").candidates[0];
  Candidate both = neg;
  both.nodes.push_back(&FindNode(graph, "Hardmax"));
  EXPECT_FALSE(static_cast<bool>(engine_->Check(graph, both, target_)));
  both.nodes[1] = &FindNode(graph, "Relu");
  both.inputs.push_back(neg.inputs[0]);
  both.outputs.push_back(neg.outputs[0]);
  EXPECT_EQ(engine_->Check(graph, both, target_).reason(),
            "pointwise: its nodes do not hang together");
}

}  // namespace
}  // namespace onnx_cudnn

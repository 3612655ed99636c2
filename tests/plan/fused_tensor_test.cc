#include "runtime/plan/fused_tensor.h"

#include "gtest/gtest.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

const Value& Add(Graph& graph, const Dims& dims) {
  return graph.AddInput("x", Type::Tensor(DType::kF32, dims));
}

OperandShape ShapeBeside(const Dims& operand, const Dims& tensor, int channel_dim) {
  Graph graph;
  return ShapeOf(Add(graph, operand), {tensor, channel_dim});
}

TEST(ShapeOfTest, ReturnsHowAnOperandBroadcasts) {
  const Dims image = {2, 8, 4, 4};
  EXPECT_EQ(ShapeBeside({}, image, 1), OperandShape::kScalar);
  EXPECT_EQ(ShapeBeside({1, 1, 1}, image, 1), OperandShape::kScalar);
  EXPECT_EQ(ShapeBeside({2, 8, 4, 4}, image, 1), OperandShape::kFull);
  EXPECT_EQ(ShapeBeside({8, 1, 1}, image, 1), OperandShape::kPerChannel);
  EXPECT_EQ(ShapeBeside({2, 1, 4, 4}, image, 1), OperandShape::kPerPixel);
  EXPECT_EQ(ShapeBeside({2, 8, 1, 1}, image, 1), OperandShape::kOther);
  EXPECT_EQ(ShapeBeside({4, 4}, image, 1), OperandShape::kOther);
  EXPECT_EQ(ShapeBeside({1, 2, 8, 4, 4}, image, 1), OperandShape::kOther);
  EXPECT_EQ(ShapeBeside({16}, {4, 16}, 1), OperandShape::kPerChannel);
  EXPECT_EQ(ShapeBeside({4, 1}, {4, 16}, 1), OperandShape::kPerPixel);
}

TEST(BesideChannelsLastTest, PadsWhatHasChannels) {
  Graph graph;
  const FusedTensor image = {{2, 6, 4, 4}, 1};
  const auto beside = [&](const Dims& dims) {
    return BesideChannelsLast(Add(graph, dims), image, 8);
  };
  EXPECT_EQ(beside({2, 6, 4, 4}), Format::ChannelsLast(Dims{2, 6, 4, 4}, 8));
  EXPECT_EQ(beside({6, 1, 1}), Format::Of({{0, 1, 8, 8}}));
  EXPECT_EQ(beside({2, 1, 4, 4}), Format::ChannelsLast(Dims{2, 1, 4, 4}));
  EXPECT_EQ(beside({}), Format());
}

TEST(NodesAroundTest, AreSplitByWhatTheAnchorReads) {
  const Graph graph = GraphFromText(
      "g (float[1,2,3,3] x, float[2,2,1,1] w, float[1,2,3,3] r) => (y) "
      "{ a = Relu(x) b = Exp(a) c = Abs(r) t = Conv(b, w) y = Add(t, c) }");
  const std::vector<Node*> order = graph.TopologicalOrder();
  const std::vector<const Node*> nodes(order.begin(), order.end());
  const Node& conv = *nodes[3];
  ASSERT_EQ(conv.op(), "Conv");
  EXPECT_EQ(NodesBefore(conv, nodes), std::vector<const Node*>({nodes[1], nodes[0]}));
  EXPECT_EQ(NodesBehind(conv, nodes), std::vector<const Node*>({nodes[2], nodes[4]}));
}

}  // namespace
}  // namespace onnx_cudnn

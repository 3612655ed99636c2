#include <gtest/gtest.h>

#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

Value& Typed(Graph& graph, Node& node, const Dims& dims) {
  graph.SetType(node.output(0), Type::Tensor(DType::kF32, dims));
  return node.output(0);
}

// next = state + slice; collected = next * captured.
std::unique_ptr<Graph> RunningSum(const Dims& next_dims = {2}) {
  auto body = std::make_unique<Graph>();
  Value& state = body->AddInput("state", Type::Tensor(DType::kF32, {2}));
  Value& slice = body->AddInput("slice", Type::Tensor(DType::kF32, {2}));
  Value& captured = body->AddInput("captured", Type::Tensor(DType::kF32, {}));
  Value& next = Typed(*body, body->AddNode({.op = "Add", .inputs = {&state, &slice}}), next_dims);
  Node& mul = body->AddNode({.op = "Mul", .inputs = {&next, &captured}});
  body->AddOutput("next", next);
  body->AddOutput("collected", Typed(*body, mul, {2}));
  return body;
}

struct ScanGraph {
  Graph graph;
  Node* node;
  // xs is the input that is scanned, ys what is collected.
  ScanGraph(Attrs attrs, const Dims& xs, const Dims& ys, std::unique_ptr<Graph> body) {
    Value& start = graph.AddInput("start", Type::Tensor(DType::kF32, {2}));
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, xs));
    Value& ten = graph.AddConstant(F32({}, {10}));
    attrs.Set("num_scan_inputs", int64_t{1});
    NodeSpec spec{.op = "Scan",
                  .inputs = {&start, &x, &ten},
                  .attrs = std::move(attrs),
                  .outputs = {"last", "y"},
                  .captures = 1};
    spec.bodies["body"] = std::move(body);
    node = &graph.AddNode(std::move(spec));
    graph.AddOutput("last", Typed(graph, *node, {2}));
    graph.SetType(node->output(1), Type::Tensor(DType::kF32, ys));
    graph.AddOutput("y", node->output(1));
  }
  std::string No() const { return CheckOp(*node).reason(); }
};

const HostTensor kStart = F32({2}, {100, 200});

TEST(ScanTest, CarriesItsStateAndCollectsSlices) {
  const ScanGraph scan({}, {3, 2}, {3, 2}, RunningSum());
  const auto out = Evaluate(scan.graph, {kStart, F32({3, 2}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(NumbersOf((*out)[0]).values, (std::vector<double>{109, 212}));
  EXPECT_EQ(NumbersOf((*out)[1]).values, (std::vector<double>{1010, 2020, 1040, 2060, 1090, 2120}));
}

TEST(ScanTest, FollowsAxesAndDirections) {
  using Ints = std::vector<int64_t>;
  const ScanGraph scan({{"scan_input_axes", Ints{1}},
                        {"scan_input_directions", Ints{1}},
                        {"scan_output_axes", Ints{-1}},
                        {"scan_output_directions", Ints{1}}},
                       {2, 3}, {2, 3}, RunningSum());
  const auto out = Evaluate(scan.graph, {kStart, F32({2, 3}, {1, 3, 5, 2, 4, 6})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(NumbersOf((*out)[0]).values, (std::vector<double>{109, 212}));
  EXPECT_EQ(NumbersOf((*out)[1]).values, (std::vector<double>{1090, 1080, 1050, 2120, 2100, 2060}));
}

TEST(ScanTest, CostsTheSumOfItsIterations) {
  const Cost three = CostOf(*ScanGraph({}, {3, 2}, {3, 2}, RunningSum()).node);
  EXPECT_EQ(three.calls, 1 + 3 * 2);
  EXPECT_EQ(three.flops, 3 * (2 + 2));
  const Cost along = CostOf(
      *ScanGraph({{"scan_input_axes", std::vector<int64_t>{1}}}, {2, 9}, {9, 2}, RunningSum())
           .node);
  EXPECT_EQ(along.calls, 1 + 9 * 2);
}

TEST(ScanTest, WithoutSlicesKeepsItsState) {
  const ScanGraph scan({}, {0, 2}, {0, 2}, RunningSum());
  const auto out = Evaluate(scan.graph, {kStart, F32({0, 2}, {})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(NumbersOf((*out)[0]).values, (std::vector<double>{100, 200}));
}

TEST(ScanTest, RefusesAStateThatChangesItsTypeAndUnequalLengths) {
  EXPECT_EQ(ScanGraph({}, {3, 2}, {3, 2}, RunningSum({1, 2})).No(),
            "Scan (opset 28) on f32: the state state changes its type from f32[2] to f32[1,2]");
  EXPECT_EQ(ScanGraph({}, {2}, {3, 2}, RunningSum()).No(),
            "Scan (opset 28) on f32: x is f32[2], no stack of f32[2]");
  const ScanGraph longer({}, {3, 2}, {4, 2}, RunningSum());
  EXPECT_EQ(Evaluate(longer.graph, {kStart, F32({3, 2}, {1, 2, 3, 4, 5, 6})}).status().message(),
            "node (Scan): a scanned axis has 4 slices, the first one 3");
}

}  // namespace
}  // namespace onnx_cudnn

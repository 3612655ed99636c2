#include "runtime/ops/evaluate.h"

#include <gtest/gtest.h>

#include "runtime/ops/op_table.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

Value& Typed(Graph& graph, Node& node, DType dtype, const Dims& dims) {
  graph.SetType(node.output(0), Type::Tensor(dtype, dims));
  return node.output(0);
}

// y = op(x, 10), of f32[2].
std::unique_ptr<Graph> Body(std::string op, const Dims& dims = {2}) {
  auto body = std::make_unique<Graph>();
  Value& x = body->AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& node =
      body->AddNode({.op = std::move(op), .inputs = {&x, &body->AddConstant(F32({}, {10}))}});
  body->AddOutput("y", Typed(*body, node, DType::kF32, dims));
  return body;
}

Graph IfGraph(std::unique_ptr<Graph> yes, std::unique_ptr<Graph> no) {
  Graph graph;
  Value& cond = graph.AddInput("cond", Type::Tensor(DType::kBool, {}));
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  NodeSpec spec{.op = "If", .inputs = {&cond, &x}, .captures = 1};
  spec.bodies["then_branch"] = std::move(yes);
  spec.bodies["else_branch"] = std::move(no);
  graph.AddOutput("y", Typed(graph, graph.AddNode(std::move(spec)), DType::kF32, {2}));
  return graph;
}

HostTensor Cond(bool value) { return TensorOf(DType::kBool, {}, {value ? 1.0 : 0.0}); }

TEST(EvaluateTest, RunsNodesInOrderAndReturnsInputsAndConstantsToo) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Value& c = graph.AddConstant(F32({2}, {3, 4}));
  Value& sum = Typed(graph, graph.AddNode({.op = "Add", .inputs = {&x, &c}}), DType::kF32, {2});
  Value& square =
      Typed(graph, graph.AddNode({.op = "Mul", .inputs = {&sum, &sum}}), DType::kF32, {2});
  for (Value* v : {&square, &x, &c, &square}) graph.AddOutput("o", *v);
  absl::StatusOr<std::vector<HostTensor>> out = Evaluate(graph, {F32({2}, {1, 1})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(NumbersOf((*out)[0]).values, (std::vector<double>{16, 25}));
  EXPECT_EQ(NumbersOf((*out)[1]).values, (std::vector<double>{1, 1}));
  EXPECT_EQ(NumbersOf((*out)[2]).values, (std::vector<double>{3, 4}));
  EXPECT_TRUE(SameContent((*out)[0], (*out)[3]));
}

TEST(EvaluateTest, RefusesInputsOfAnotherTypeOrNumber) {
  std::unique_ptr<Graph> graph = Body("Add");
  EXPECT_EQ(Evaluate(*graph, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Evaluate(*graph, {F32({3}, {1, 2, 3})}).status().message(),
            ": input x is f32[3], expected f32[2]");
}

TEST(EvaluateTest, ErrorsNameTheNode) {
  std::unique_ptr<Graph> graph = Body("Bogus");
  EXPECT_EQ(
      Evaluate(*graph, {F32({2}, {1, 2})}).status(),
      absl::UnimplementedError("node (Bogus): Bogus (opset 28) on f32: the op is not implemented"));
}

TEST(IfTest, RunsTheChosenBranchOnItsCaptures) {
  Graph graph = IfGraph(Body("Add"), Body("Mul"));
  for (bool cond : {true, false}) {
    absl::StatusOr<std::vector<HostTensor>> out = Evaluate(graph, {Cond(cond), F32({2}, {1, 2})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(NumbersOf(out->front()).values,
              cond ? (std::vector<double>{11, 12}) : (std::vector<double>{10, 20}));
  }
}

TEST(IfTest, CostsWhatItsCostliestBranchCosts) {
  const Graph graph = IfGraph(Body("Pow"), Body("Add"));
  const Cost cost = CostOf(*graph.TopologicalOrder()[0]);
  EXPECT_EQ(cost.calls, 2);
  EXPECT_EQ(cost.flops, 2);
  EXPECT_GT(cost.us, 0);
  EXPECT_EQ(cost.us, CostOf(*Body("Pow")->TopologicalOrder()[0]).us);
}

TEST(IfTest, RefusesBranchesOfOtherShapesOrUnknownOps) {
  const auto reason = [](const Graph& graph) {
    return CheckOp(*graph.TopologicalOrder()[0]).reason();
  };
  EXPECT_EQ(reason(IfGraph(Body("Add"), Body("Mul", {3}))),
            "If (opset 28) on bool: output 0 of else_branch is f32[3], of the node f32[2]; equal "
            "static shapes are needed");
  EXPECT_EQ(reason(IfGraph(Body("Bogus"), Body("Mul"))),
            "If (opset 28) on bool: then_branch: node (Bogus): Bogus (opset 28) on f32: the op is "
            "not implemented");
}

TEST(OwnOpsTest, ReformatAndTransferAreIdentities) {
  for (const char* op : {"Reformat", "Transfer"}) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kI4, {3}));
    Node& node = graph.AddNode({.op = op, .inputs = {&x}, .domain = std::string(kOwnDomain)});
    graph.AddOutput("y", Typed(graph, node, DType::kI4, {3}));
    HostTensor bytes = HostTensor::Allocate(DType::kI4, {3});
    static_cast<uint8_t*>(bytes.mutable_raw())[0] = 0x21;
    static_cast<uint8_t*>(bytes.mutable_raw())[1] = 0x03;
    absl::StatusOr<std::vector<HostTensor>> out = Evaluate(graph, {bytes});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(SameContent(out->front(), bytes));
  }
}

}  // namespace
}  // namespace onnx_cudnn

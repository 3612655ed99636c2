#include "runtime/graph/graph.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "runtime/graph/print.h"

namespace onnx_cudnn {
namespace {

const Type kVector = Type::Tensor(DType::kF32, {2});

Node& Add(Graph& graph, const std::string& op, std::vector<Value*> inputs) {
  Node& node = graph.AddNode({.op = op, .inputs = std::move(inputs)});
  graph.SetType(node.output(0), kVector);
  return node;
}

HostTensor Two() { return HostTensor::Of<float>(DType::kF32, {2}, {1.0f, 2.0f}); }

std::vector<std::string> Ops(const std::vector<Node*>& nodes) {
  std::vector<std::string> ops;
  for (const Node* node : nodes) ops.push_back(node->op());
  return ops;
}

TEST(GraphTest, KeepsUsesInStep) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  Value& z = graph.AddInput("z", kVector);
  Node& mul = Add(graph, "Mul", {&x, &x});
  EXPECT_EQ(x.uses().size(), 2u);
  graph.SetInput(mul, 0, &z);
  ASSERT_EQ(x.uses().size(), 1u);
  EXPECT_EQ(x.uses()[0].index, 1);
  EXPECT_EQ(z.uses()[0].node, &mul);
}

TEST(GraphTest, ReplacesUsesAndGraphOutputs) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  Node& a = Add(graph, "Relu", {&x});
  Node& b = Add(graph, "Neg", {&a.output(0)});
  graph.AddOutput("y", a.output(0));
  graph.ReplaceAllUses(a.output(0), x);
  EXPECT_EQ(&b.input(0), &x);
  EXPECT_EQ(graph.outputs()[0].value, &x);
  EXPECT_EQ(graph.outputs()[0].name, "y");
  EXPECT_TRUE(x.is_graph_output());
  EXPECT_TRUE(a.output(0).uses().empty());
  graph.Remove(a);
  EXPECT_EQ(graph.node_count(), 1);
}

TEST(GraphTest, FreesAReplacedConstantAtOnce) {
  Graph graph;
  auto bytes = std::make_shared<std::vector<float>>(2);
  const std::weak_ptr<std::vector<float>> alive = bytes;
  const void* data = bytes->data();
  Value& c = graph.AddConstant(HostTensor::Borrow(DType::kF32, {2}, data, std::move(bytes)));
  Node& relu = Add(graph, "Relu", {&c});
  graph.SetInputs(relu, {&graph.AddConstant(Two())});
  EXPECT_TRUE(alive.expired());
}

TEST(GraphTest, CutsTrailingAbsentOperands) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  const Node& node =
      graph.AddNode({.op = "Clip", .inputs = {&x, nullptr, nullptr}, .outputs = {"y", ""}});
  EXPECT_EQ(node.inputs().size(), 1u);
  EXPECT_EQ(node.outputs().size(), 1u);
  EXPECT_FALSE(node.has_input(1));
}

TEST(GraphTest, MakesNamesUnique) {
  Graph graph;
  EXPECT_EQ(graph.AddInput("x", kVector).name(), "x");
  EXPECT_NE(graph.AddInput("x", kVector).name(), "x");
  EXPECT_NE(graph.AddInput("", kVector).name(), "");
}

TEST(GraphTest, PutsProducersFirst) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  Node& late = Add(graph, "Neg", {&x});
  Node& early = Add(graph, "Relu", {&x});
  graph.SetInput(late, 0, &early.output(0));
  EXPECT_EQ(Ops(graph.TopologicalOrder()), (std::vector<std::string>{"Relu", "Neg"}));
}

TEST(GraphTest, HasNoOrderWithACycle) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  Node& a = Add(graph, "Relu", {&x});
  Node& b = Add(graph, "Neg", {&a.output(0)});
  graph.SetInput(a, 0, &b.output(0));
  EXPECT_TRUE(graph.TopologicalOrder().empty());
}

TEST(GraphTest, OrdersADeepChain) {
  Graph graph;
  Value* v = &graph.AddInput("x", kVector);
  for (int i = 0; i < 100000; ++i) v = &Add(graph, "Relu", {v}).output(0);
  EXPECT_EQ(graph.TopologicalOrder().size(), 100000u);
}

TEST(GraphTest, ClonesEverythingAndSharesBytes) {
  Graph graph;
  graph.set_name("g");
  Value& x = graph.AddInput("x", kVector);
  Node& add = Add(graph, "Add", {&x, &graph.AddConstant(Two())});
  graph.AddOutput("y", add.output(0));
  graph.AddOutput("c", graph.AddConstant(Two(), "k"));
  const Graph copy = graph.Clone();
  EXPECT_EQ(Print(copy), Print(graph));
  EXPECT_EQ(copy.TopologicalOrder()[0]->input(1).constant().raw(), add.input(1).constant().raw());
}

TEST(GraphTest, KeepsAddressesWhenMoved) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  const Node& node = Add(graph, "Relu", {&x});
  const Graph moved = std::move(graph);
  EXPECT_EQ(moved.TopologicalOrder()[0], &node);
  EXPECT_EQ(moved.inputs()[0], &x);
}

TEST(GraphTest, FindsNodesById) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  Node& node = Add(graph, "Relu", {&x});
  EXPECT_EQ(graph.node(node.id()), &node);
  const int id = node.id();
  graph.Remove(node);
  EXPECT_EQ(graph.node(id), nullptr);
  EXPECT_EQ(graph.node_ids(), 1);
}

TEST(BoundaryTest, ListsEachValueOnceInOrderOfFirstUse) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  Value& z = graph.AddInput("z", kVector);
  Value& c = graph.AddConstant(Two());
  Node& a = Add(graph, "Mul", {&z, &x});
  Node& b = Add(graph, "Add", {&a.output(0), &x});
  Node& d = Add(graph, "Sub", {&b.output(0), &c});
  Node& outside = Add(graph, "Neg", {&b.output(0)});
  graph.AddOutput("d", d.output(0));
  graph.AddOutput("o", outside.output(0));
  const Boundary boundary = BoundaryOf(std::vector<const Node*>{&a, &b, &d});
  EXPECT_EQ(boundary.inputs, (std::vector<const Value*>{&z, &x}));
  EXPECT_EQ(boundary.constants, (std::vector<const Value*>{&c}));
  EXPECT_EQ(boundary.outputs, (std::vector<const Value*>{&b.output(0), &d.output(0)}));
}

TEST(ExtractTest, MakesConstantsInputsAfterTheOtherInputs) {
  Graph graph;
  graph.set_name("g");
  Value& x = graph.AddInput("x", kVector);
  Node& add = Add(graph, "Add", {&graph.AddConstant(Two(), "c"), &x});
  graph.AddOutput("y", add.output(0));
  const Graph extract = Extract(std::vector<const Node*>{&add});
  EXPECT_EQ(Print(extract), "\"\" (f32[2] x, f32[2] c) => (f32[2] add) {\n  add = Add(c, x)\n}\n");
}

TEST(WhereTest, NamesANode) {
  Graph graph;
  Value& x = graph.AddInput("x", kVector);
  EXPECT_EQ(Where(graph.AddNode({.op = "Relu", .inputs = {&x}, .name = "r1"})),
            "node \"r1\" (Relu)");
  EXPECT_EQ(Where(graph.AddNode({.op = "Relu", .inputs = {&x}})), "node (Relu)");
}

}  // namespace
}  // namespace onnx_cudnn

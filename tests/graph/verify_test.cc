#include "runtime/graph/verify.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/graph/infer.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

void ExpectBroken(const Graph& graph, std::string_view message) {
  const absl::Status status = Verify(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), message)) << status;
}

Type F32() { return Type::Tensor(DType::kF32, {2}); }

TEST(VerifyTest, AcceptsWhatTheLoaderMakes) {
  const Graph graph = GraphFromText(R"(
      g (bool c, float[2] x) => (float[2] y, float[2] x2) <float[2] w = {1, 2}> {
        t = Add(x, w)
        y = If<then_branch = th () => (float[2] u) { u = Add(t, x) },
               else_branch = el () => (float[2] v) { v = Neg(t) }>(c)
        x2 = Mul(x, x)
      })");
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
}

TEST(VerifyTest, FindsACycle) {
  Graph graph;
  Value& x = graph.AddInput("x", F32());
  Node& a = graph.AddNode({.op = "Relu", .inputs = {&x}});
  Node& b = graph.AddNode({.op = "Relu", .inputs = {&a.output(0)}});
  graph.SetInput(a, 0, &b.output(0));
  ExpectBroken(graph, "there is a cycle");
}

TEST(VerifyTest, FindsAnInputOfAnotherGraph) {
  Graph other, graph;
  Value& x = other.AddInput("x", F32());
  Node& node = graph.AddNode({.op = "Relu", .inputs = {&x}});
  graph.SetType(node.output(0), F32());
  ExpectBroken(graph, "node (Relu): an input is of another graph");
  graph.SetInputs(node, {});
}

TEST(VerifyTest, FindsAnOutputOfAnotherGraph) {
  Graph other, graph;
  graph.AddOutput("y", other.AddInput("x", F32()));
  ExpectBroken(graph, "output \"y\" is of another graph");
}

TEST(VerifyTest, FindsTwoOutputsOfOneName) {
  Graph graph;
  Value& x = graph.AddInput("x", F32());
  graph.AddOutput("y", x);
  graph.AddOutput("y", x);
  ExpectBroken(graph, "two outputs have the name \"y\"");
}

TEST(VerifyTest, FindsAUseThatIsNotListed) {
  Graph graph;
  Value& x = graph.AddInput("x", F32());
  graph.SetType(graph.AddNode({.op = "Add", .inputs = {&x, &x}}).output(0), F32());
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  const_cast<std::vector<Use>&>(x.uses()).pop_back();  // no Graph does so
  ExpectBroken(graph, "nodes have 2 inputs, values list 1 uses");
}

TEST(VerifyTest, FindsAnUntypedOutput) {
  Graph graph;
  Value& x = graph.AddInput("x", F32());
  graph.AddNode({.op = "Relu", .inputs = {&x}, .outputs = {"y"}});
  ExpectBroken(graph, "output \"y\" has no type");
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_TRUE(Verify(graph).ok());
}

TEST(VerifyTest, FindsAConstantOfAnotherType) {
  Graph graph;
  Value& c = graph.AddConstant(HostTensor::Ints({1}), "c");
  graph.AddOutput("y", c);
  graph.SetType(c, F32());
  ExpectBroken(graph, "value \"c\": the constant is declared f32[2]");
}

TEST(VerifyTest, FindsABodyThatDoesNotMatchItsCaptures) {
  const auto make = [](Type captured, int captures) {
    auto body = std::make_unique<Graph>();
    body->AddOutput("u", body->AddInput("t", std::move(captured)));
    Graph graph;
    Value& c = graph.AddInput("c", Type::Tensor(DType::kBool, {}));
    Value& x = graph.AddInput("x", F32());
    NodeSpec spec{.op = "If", .inputs = {&c, &x}, .captures = captures};
    spec.bodies["then_branch"] = std::move(body);
    graph.SetType(graph.AddNode(std::move(spec)).output(0), F32());
    return graph;
  };
  EXPECT_TRUE(Verify(make(F32(), 1)).ok()) << Verify(make(F32(), 1));
  ExpectBroken(make(F32(), 0), "node (If): then_branch: it has 1 inputs for 0 captures");
  ExpectBroken(make(F32(), 3), "then_branch: it has 1 inputs, its node 2 with 3 captures");
  ExpectBroken(make(Type::Tensor(DType::kI64, {2}), 1), "captured input \"t\" is i64[2]");
}

TEST(VerifyTest, LooksIntoBodies) {
  Graph graph = GraphFromText(R"(
      g (bool c, float[2] x) => (float[2] y) {
        y = If<then_branch = th () => (float[2] u) { u = Neg(x) },
               else_branch = el () => (float[2] v) { v = Neg(x) }>(c)
      })");
  Node& node = *graph.TopologicalOrder()[0];
  Graph& body = *graph.MutableBodies(node).find("else_branch")->second;
  body.AddOutput("v", *body.inputs()[0]);
  ExpectBroken(graph, "node (If): else_branch: two outputs have the name \"v\"");
}

}  // namespace
}  // namespace onnx_cudnn

// Every clean-up pass takes near-linear time: long chains of the Nodes that it rewrites.
#include <functional>

#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

constexpr int kNodes = 20000;

// Appends Node `i` of a chain to `v`, f32[2,3] or f32[3,2].
using Link = std::function<Value&(Graph& graph, Value& v, int i)>;

Value& Add(Graph& graph, std::string op, std::vector<Value*> inputs, const Dims& dims = {2, 3}) {
  Node& node = graph.AddNode({.op = std::move(op), .inputs = std::move(inputs)});
  graph.SetType(node.output(0), Type::Tensor(DType::kF32, dims));
  return node.output(0);
}

void ExpectFast(std::unique_ptr<Pass> pass, int nodes_left, const Link& link) {
  Graph graph;
  Value* v = &graph.AddInput("x", Type::Tensor(DType::kF32, {2, 3}));
  for (int i = 0; i < kNodes; ++i) v = &link(graph, *v, i);
  graph.AddOutput("y", *v);
  ExpectChangesFast(std::move(pass), graph);
  EXPECT_EQ(graph.node_count(), nodes_left);
}

Value& Number(Graph& graph, float x) {
  return graph.AddConstant(HostTensor::Of<float>(DType::kF32, {}, {x}));
}

TEST(CleanUpScaleTest, CancelsReshapes) {
  ExpectFast(CancelReshapes(), 0, [](Graph& graph, Value& v, int i) -> Value& {
    const Dims dims = i % 2 == 0 ? Dims{3, 2} : Dims{2, 3};
    return Add(graph, "Reshape", {&v, &graph.AddConstant(HostTensor::Ints(dims))}, dims);
  });
}

TEST(CleanUpScaleTest, CancelsTransposesAroundElementwiseNodes) {
  ExpectFast(CancelTransposes(), kNodes / 2, [](Graph& graph, Value& v, int i) -> Value& {
    return Add(graph, i % 2 == 0 ? "Transpose" : "Relu", {&v}, i % 4 < 2 ? Dims{3, 2} : Dims{2, 3});
  });
}

TEST(CleanUpScaleTest, DropsPairs) {
  ExpectFast(SimplifyArithmetic(), 0,
             [](Graph& graph, Value& v, int) -> Value& { return Add(graph, "Neg", {&v}); });
}

TEST(CleanUpScaleTest, MergesClips) {
  ExpectFast(SimplifyArithmetic(), 1, [](Graph& graph, Value& v, int) -> Value& {
    return Add(graph, "Clip", {&v, &Number(graph, 0), &Number(graph, 6)});
  });
}

TEST(CleanUpScaleTest, JoinsFactors) {
  ExpectFast(FoldConstantChains(), 1, [](Graph& graph, Value& v, int) -> Value& {
    return Add(graph, "Mul", {&v, &Number(graph, 1)});
  });
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/ops/op_table.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

struct OneNode {
  Graph graph;
  Node* node;
  OneNode(NodeSpec spec, DType dtype, const Dims& dims) {
    for (int i = 0; i < 2; ++i)
      spec.inputs.push_back(&graph.AddInput("x", Type::Tensor(dtype, dims)));
    node = &graph.AddNode(std::move(spec));
    graph.SetType(node->output(0), Type::Tensor(dtype, dims));
  }
  std::string No() const { return CheckOp(*node).reason(); }
};

TEST(OpTableTest, TakesWhatItImplements) {
  EXPECT_TRUE(CheckOp(*OneNode({.op = "Add"}, DType::kF32, {2}).node));
}

TEST(OpTableTest, ARefusalNamesOpOpsetAndType) {
  EXPECT_EQ(OneNode({.op = "Bogus"}, DType::kF16, {2}).No(),
            "Bogus (opset 28) on f16: the op is not implemented");
  EXPECT_EQ(OneNode({.op = "Add"}, DType::kC64, {2}).No(),
            "Add (opset 28) on c64: the type is not implemented");
  EXPECT_EQ(OneNode({.op = "Add", .domain = "com.acme"}, DType::kF32, {2}).No(),
            "com.acme.Add (opset 28) on f32: the op is not implemented");
  EXPECT_EQ(OneNode({.op = "Add", .opset = 13}, DType::kF32, {2}).No(),
            "Add (opset 13) on f32: only its form since opset 14 is implemented");
}

TEST(OpTableTest, RefusesAValueOfUnknownType) {
  OneNode one({.op = "Add"}, DType::kF32, {2});
  one.graph.SetType(one.node->output(0), Type{});
  EXPECT_EQ(one.No(), "Add (opset 28) on f32: add is ?, not a tensor");
}

TEST(OpTableTest, RefusesAnElementWiseOpWithoutItsInputs) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& node = graph.AddNode({.op = "Add", .inputs = {&x}});
  graph.SetType(node.output(0), x.type());
  EXPECT_EQ(CheckOp(node).reason(), "Add (opset 28) on f32: input 1 is absent");
}

TEST(OpTableTest, CostCountsBytesAndOperations) {
  const OneNode mul({.op = "Mul"}, DType::kF32, {8}), unknown({.op = "Bogus"}, DType::kF32, {8});
  EXPECT_EQ(CostOf(*mul.node).flops, 8);
  EXPECT_EQ(CostOf(*mul.node).bytes, 3 * 32);
  EXPECT_EQ(CostOf(*unknown.node).bytes, 3 * 32);
}

}  // namespace
}  // namespace onnx_cudnn

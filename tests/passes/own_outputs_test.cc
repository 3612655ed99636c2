#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(OwnOutputsTest, CopiesAnInput) {
  ExpectRewrite(OwnOutputs(), "g (float[2] x) => (float[2] x) { }",
                "g (f32[2] x) => (f32[2] x = identity) { identity = Identity(x) }");
}

TEST(OwnOutputsTest, CopiesAConstant) {
  ExpectRewrite(OwnOutputs(), "g () => (float[2] c) <float[2] c = {1, 2}> { }",
                "g () => (f32[2] c = identity) { identity = Identity({1, 2}) }");
}

TEST(OwnOutputsTest, LeavesConstantStrings) {
  ExpectNoRewrite(OwnOutputs(), "g () => (string[1] c) { c = Constant<value_strings = [\"a\"]>() }",
                  "");
}

TEST(OwnOutputsTest, CopiesAnEarlierOutput) {
  PassContext context;
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& relu = graph.AddNode({.op = "Relu", .inputs = {&x}});
  graph.SetType(relu.output(0), x.type());
  graph.AddOutput("a", relu.output(0));
  graph.AddOutput("b", relu.output(0));
  EXPECT_TRUE(*OwnOutputs()->Run(graph, context));
  EXPECT_EQ(PrintOnOneLine(graph),
            "\"\" (f32[2] x) => (f32[2] a = relu, f32[2] b = identity) "
            "{ relu = Relu(x) identity = Identity(relu) }");
}

TEST(OwnOutputsTest, LeavesOutputsOfTheirOwn) {
  ExpectNoRewrite(OwnOutputs(),
                  "g (float[2] x) => (float[2] a, float[2] b) { a = Relu(x) b = Neg(a) }", "");
}

}  // namespace
}  // namespace onnx_cudnn

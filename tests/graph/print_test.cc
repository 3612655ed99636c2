#include "runtime/graph/print.h"

#include "gtest/gtest.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {
namespace {

// A Graph of one Node that reads x and a constant.
std::string PrintedWith(HostTensor constant) {
  Graph graph;
  graph.set_name("g");
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& add = graph.AddNode(
      {.op = "Add", .inputs = {&x, &graph.AddConstant(std::move(constant))}, .outputs = {"y"}});
  return Print(add);
}

template <typename T>
HostTensor Of(DType dtype, std::vector<T> values) {
  return HostTensor::Of<T>(dtype, {static_cast<int64_t>(values.size())}, values);
}

TEST(PrintTest, ShowsInputsOutputsAndNodes) {
  Graph graph;
  graph.set_name("g");
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {1, 4}));
  Value& c = graph.AddConstant(Of<float>(DType::kF32, {1, 2, 3, 4}));
  Node& add = graph.AddNode({.op = "Add", .inputs = {&x, &c}, .outputs = {"y"}});
  graph.SetType(add.output(0), x.type());
  graph.AddOutput("y", add.output(0));
  EXPECT_EQ(Print(graph), R"(g (f32[1,4] x) => (f32[1,4] y) {
  y = Add(x, {1, 2, 3, 4})
}
)");
}

TEST(PrintTest, ShowsAnOutputOfAnotherName) {
  Graph graph;
  graph.set_name("g");
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  graph.AddOutput("y", x);
  graph.AddOutput("c", graph.AddConstant(HostTensor::Ints({7})));
  EXPECT_EQ(Print(graph), "g (f32[2] x) => (f32[2] y = x, i64[1] c = {7}) {\n}\n");
}

TEST(PrintTest, ShowsAttributesAndAbsentOperands) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Value& z = graph.AddInput("z", Type::Tensor(DType::kF32, {2}));
  Node& node = graph.AddNode(
      {.op = "Op",
       .inputs = {&x, nullptr, &z},
       .attrs = {{"f", 1.0f}, {"i", int64_t{3}}, {"l", std::vector<int64_t>{1, 2}}, {"s", "a\"b"}},
       .outputs = {"a", "", "c"},
       .domain = "d"});
  EXPECT_EQ(Print(node), R"(a, "", c = d.Op<f = 1.0, i = 3, l = [1, 2], s = "a\"b">(x, "", z))");
}

TEST(PrintTest, ShowsTensorAttributesWithTheirType) {
  EXPECT_EQ(ToString(Attribute(Of<float>(DType::kF32, {1, 2.5f}))), "f32[2] {1, 2.5}");
  EXPECT_EQ(ToString(Attribute(std::vector<float>{0.5f, 2})), "[0.5, 2.0]");
  EXPECT_EQ(ToString(Attribute(std::vector<std::string>{"a", "b"})), R"(["a", "b"])");
}

TEST(PrintTest, ShowsSmallConstantsOfEveryKind) {
  EXPECT_EQ(PrintedWith(Of<int64_t>(DType::kI64, {-1, 5})), "y = Add(x, {-1, 5})");
  EXPECT_EQ(PrintedWith(Of<uint8_t>(DType::kU8, {200})), "y = Add(x, {200})");
  EXPECT_EQ(PrintedWith(Of<float>(DType::kF32, {0.1f, 1e20f})), "y = Add(x, {0.1, 1e+20})");
  EXPECT_EQ(PrintedWith(Of<Float16>(DType::kF16, {ToFloat16(1.5f)})), "y = Add(x, {1.5})");
  EXPECT_EQ(PrintedWith(Of<uint8_t>(DType::kBool, {1, 0})), "y = Add(x, {1, 0})");
  EXPECT_EQ(PrintedWith(HostTensor::Strings({2}, {"a", "b"})), R"(y = Add(x, {"a", "b"}))");
  EXPECT_EQ(PrintedWith(Of<float>(DType::kF32, {})), "y = Add(x, {})");
}

TEST(PrintTest, ShowsLargeConstantsByHashAndFirstValues) {
  const std::string one = PrintedWith(Of<float>(DType::kF32, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(one.starts_with("y = Add(x, <f32[9] ")) << one;
  EXPECT_TRUE(one.ends_with(" 1, 2, 3, …>)")) << one;
  EXPECT_EQ(one, PrintedWith(Of<float>(DType::kF32, {1, 2, 3, 4, 5, 6, 7, 8, 9})));
  EXPECT_NE(one, PrintedWith(Of<float>(DType::kF32, {1, 2, 3, 4, 5, 6, 7, 8, 0})));
}

TEST(PrintTest, QuotesNamesThatReadAsSomethingElse) {
  Graph graph;
  Value& x = graph.AddInput("a b\n", Type::Tensor(DType::kF32, {2}));
  EXPECT_EQ(Print(graph.AddNode({.op = "Relu", .inputs = {&x}, .outputs = {"block/relu:0"}})),
            R"(block/relu:0 = Relu("a b\x0a"))");
}

TEST(PrintTest, IndentsBodies) {
  Graph graph;
  graph.set_name("g");
  Value& c = graph.AddInput("c", Type::Tensor(DType::kBool, {}));
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  std::map<std::string, std::unique_ptr<Graph>, std::less<>> bodies;
  for (const std::string name : {"then_branch", "else_branch"}) {
    auto body = std::make_unique<Graph>();
    body->set_name(name.substr(0, 4));
    Value& inner = body->AddInput("x", x.type());
    Node& node = body->AddNode(
        {.op = name == "then_branch" ? "Abs" : "Neg", .inputs = {&inner}, .outputs = {"r"}});
    body->SetType(node.output(0), x.type());
    body->AddOutput("r", node.output(0));
    bodies[name] = std::move(body);
  }
  Node& node = graph.AddNode({.op = "If",
                              .inputs = {&c, &x},
                              .outputs = {"y"},
                              .bodies = std::move(bodies),
                              .captures = 1});
  graph.SetType(node.output(0), x.type());
  graph.AddOutput("y", node.output(0));
  EXPECT_EQ(Print(graph), R"(g (bool[] c, f32[2] x) => (f32[2] y) {
  y = If<
    else_branch = else (f32[2] x) => (f32[2] r) {
      r = Neg(x)
    },
    then_branch = then (f32[2] x) => (f32[2] r) {
      r = Abs(x)
    }
  >(c, x)
}
)");
  EXPECT_EQ(Print(node), "y = If<else_branch = else {…}, then_branch = then {…}>(c, x)");
}

}  // namespace
}  // namespace onnx_cudnn

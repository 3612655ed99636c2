#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/print.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// `graph` written and read again, printed.
std::string Reread(const Graph& graph) {
  const absl::StatusOr<std::string> bytes = WriteModel(graph);
  if (!bytes.ok()) return bytes.status().ToString();
  const absl::StatusOr<Graph> read = LoadModelBytes(*bytes);
  return read.ok() ? Print(*read) : read.status().ToString();
}

void ExpectSame(std::string_view text) {
  const Graph graph = GraphFromText(text);
  EXPECT_EQ(Reread(graph), Print(graph));
}

TEST(WriterTest, KeepsNodesNamesAndTypes) {
  ExpectSame(R"(
      g (float[N,3] x, float[3] b) => (float[N,3] y, float[N,6] z) {
        ["n1"] t = Add(x, b)
        y = Relu(t)
        z = Concat<axis = -1>(t, y)
      })");
}

TEST(WriterTest, WritesWhatIsSaidOfNodes) {
  const Graph graph = GraphFromText("g (float[2] x) => (float[2] y) { t = Relu(x) y = Neg(t) }");
  const Node* relu = graph.TopologicalOrder()[0];
  const auto written = WriteModelOf(graph, kNewestOpset, OpsetRule::kThis,
                                    {{relu, {{"engine", "cudnn"}, {"reads", "x NCHW"}}}});
  ASSERT_TRUE(written.ok()) << written.status();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(written->bytes));
  ASSERT_EQ(model.graph().node_size(), 2);
  const onnx::NodeProto& node = model.graph().node(0);
  ASSERT_EQ(node.metadata_props_size(), 2);
  EXPECT_EQ(node.metadata_props(1).key(), "reads");
  EXPECT_EQ(node.metadata_props(1).value(), "x NCHW");
  EXPECT_EQ(model.graph().node(1).metadata_props_size(), 0);
}

TEST(WriterTest, KeepsAttributesOfEveryType) {
  ExpectSame(R"(
      g (float[1,2,4,4] x, int64[2] s) => (float[1,2,2,2] y, float[?,?] z, float[1,2,4,4] w) {
        y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
        z = ConstantOfShape<value = float[1] {2}>(s)
        w = LRN<size = 3, alpha = 0.5>(x)
      })");
}

TEST(WriterTest, KeepsConstantsOfEveryType) {
  ExpectSame(R"(
      g (float[2] x) => (float[2] y, int64[2] i, bool[2] b, string[2] s)
        <float[2] c = {1.5, -2}, int64[2] ci = {1, 2}, bool[2] cb = {1, 0}, string[2] cs = {"a", "b"}> {
        y = Add(x, c)
        i = Identity(ci)
        b = Not(cb)
        s = Identity(cs)
      })");
}

TEST(WriterTest, KeepsAbsentInputsAndOutputs) {
  ExpectSame(R"(
      g (float[4] x, float high) => (float[4] y, float[2] v) <int64[1] k = {2}> {
        y = Clip(x, "", high)
        v, i = TopK(x, k)
      })");
}

TEST(WriterTest, ReopensBodies) {
  ExpectSame(R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = Relu(x)
        y = If<then_branch = th () => (float[2] u) { u = Add(t, x) },
               else_branch = el () => (float[2] v) { v = Neg(t) }>(c)
      })");
}

TEST(WriterTest, ReopensBodiesWithinBodies) {
  ExpectSame(R"(
      g (int64 n, bool c, float[2] x, float[2] d) => (float[2] y) {
        y = Loop<body = b (int64 i, bool ci, float[2] si) => (bool co, float[2] so) {
          co = Identity(ci)
          so = If<then_branch = th () => (float[2] u) { u = Add(si, d) },
                  else_branch = el () => (float[2] v) { v = Neg(si) }>(ci)
        }>(n, c, x)
      })");
}

TEST(WriterTest, RenamesInABodyWhatIsTakenOutside) {
  Graph graph = GraphFromText(R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = Relu(x)
        y = If<then_branch = th () => (float[2] u) { w = Neg(x) u = Abs(w) },
               else_branch = el () => (float[2] v) { v = Neg(x) }>(c)
      })");
  Node& relu = *graph.TopologicalOrder()[0];
  graph.AddNode({.op = "Neg", .inputs = {&relu.output(0)}, .outputs = {"w"}});
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_TRUE(absl::StrContains(Reread(graph), "w_0 = Neg(x)")) << Reread(graph);
}

TEST(WriterTest, NamesOutputsByIdentityWhereTheValueCannotTakeTheName) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& relu = graph.AddNode({.op = "Relu", .inputs = {&x}, .outputs = {"t"}});
  Value& c = graph.AddConstant(HostTensor::Ints({7}), "c");
  graph.AddOutput("first", relu.output(0));
  graph.AddOutput("second", relu.output(0));
  graph.AddOutput("input", x);
  graph.AddOutput("constant", c);
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(Reread(graph),
            "g (f32[2] x) => (f32[2] first, f32[2] second, f32[2] input, i64[1] constant) {\n"
            "  first = Relu(x)\n"
            "  second = Identity(first)\n"
            "  input = Identity(x)\n"
            "  constant = Identity({7})\n"
            "}\n");
}

TEST(WriterTest, GivesAnOutputItsNameThoughAnotherValueHasIt) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& relu = graph.AddNode({.op = "Relu", .inputs = {&x}, .outputs = {"y"}});
  Node& neg = graph.AddNode({.op = "Neg", .inputs = {&relu.output(0)}, .outputs = {"t"}});
  graph.AddOutput("y", neg.output(0));
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(Reread(graph), "g (f32[2] x) => (f32[2] y) {\n  y_0 = Relu(x)\n  y = Neg(y_0)\n}\n");
}

TEST(WriterTest, KeepsAnOpOfOnnxruntime) {
  ExpectSame(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
      g (float[N,3,3] x) => (float[N,3,3] y) { y = com.microsoft.Inverse(x) })");
}

TEST(WriterTest, RefusesOurOwnOps) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& node = graph.AddNode(
      {.op = "Reformat", .inputs = {&x}, .outputs = {"y"}, .domain = std::string(kOwnDomain)});
  graph.AddOutput("y", node.output(0));
  EXPECT_EQ(WriteModel(graph).status().ToString(),
            "FAILED_PRECONDITION: node (Reformat): is not an op of ONNX, a file cannot hold it");
}

TEST(WriterTest, WritesAFile) {
  const Graph graph = GraphFromText("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const std::string path = testing::TempDir() + "/writer_test.onnx";
  ASSERT_TRUE(WriteModelFile(graph, path).ok());
  const absl::StatusOr<Graph> read = LoadModel(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Print(*read), Print(graph));
  EXPECT_FALSE(WriteModelFile(graph, path + "/no/such/folder").ok());
}

}  // namespace
}  // namespace onnx_cudnn

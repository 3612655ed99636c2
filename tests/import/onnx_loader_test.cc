#include "runtime/import/onnx_loader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "runtime/graph/verify.h"
#include "tests/support/failing_calls.h"
#include "tests/support/graph_text.h"
#include "tests/support/hostile.h"
#include "tests/support/model_builder.h"

namespace onnx_cudnn {
namespace {

using Proto = onnx::TensorProto;
using onnx::GraphProto;

Graph Load(const onnx::ModelProto& model) {
  absl::StatusOr<Graph> graph = LoadModelBytes(model.SerializeAsString());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

Graph LoadGraph(const std::function<void(GraphProto&)>& fill, int opset = kNewestOpset) {
  onnx::ModelProto model = EmptyModel(opset);
  fill(*model.mutable_graph());
  return Load(model);
}

const Node& OnlyNode(const Graph& graph) { return *graph.TopologicalOrder().at(0); }

TEST(OnnxLoaderTest, TakesEveryOpsetFrom6To28AndRaisesIt) {
  for (int opset = 6; opset <= kNewestOpset; ++opset) {
    const Graph graph = LoadGraph(
        [](GraphProto& g) {
          AddInput(g, "x", {1, 4});
          AddNode(g, "Relu", {"x"}, {"y"});
          AddOutput(g, "y");
        },
        opset);
    ASSERT_EQ(graph.node_count(), 1) << opset;
    EXPECT_EQ(OnlyNode(graph).opset(), kNewestOpset);
    EXPECT_EQ(ToString(graph.outputs()[0].value->type()), "f32[1,4]");
  }
}

TEST(OnnxLoaderTest, AnOpsetMayBeImportedTwice) {
  onnx::ModelProto model = EmptyModel(18);
  AddInput(*model.mutable_graph(), "x", {2});
  AddNode(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  AddOutput(*model.mutable_graph(), "y");
  model.add_opset_import()->set_version(18);
  EXPECT_EQ(Load(model).node_count(), 1);
  model.mutable_opset_import(1)->set_version(17);
  EXPECT_EQ(LoadModelBytes(model.SerializeAsString()).status().message(),
            "model: domain \"\" is imported as opset 18 and as opset 17");
}

TEST(OnnxLoaderTest, OutputsTakeDeclaredSymbolsButNotDeclaredNumbers) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    AddInput(g, "x", {2, 3});
    g.mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("N");
    AddNode(g, "Relu", {"x"}, {"y"});
    AddTensorInfo(g.add_output(), "y", Proto::FLOAT, {7, 3});
  });
  EXPECT_EQ(ToString(graph.outputs()[0].value->type()), "f32[N,3]");
}

TEST(OnnxLoaderTest, AnInitializerThatIsAnInputIsAConstant) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    AddInput(g, "x", {4});
    AddInput(g, "w", {4});
    AddFloats(g, "w", {4});
    AddNode(g, "Add", {"x", "w"}, {"y"});
    AddOutput(g, "y");
  });
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0]->name(), "x");
  EXPECT_TRUE(OnlyNode(graph).input(1).is_constant());
}

TEST(OnnxLoaderTest, AnInitializerIsWhatItsInputAndValueInfoDeclare) {
  const auto load = [](bool as_input, int dtype, const Dims& dims) {
    onnx::ModelProto model = EmptyModel();
    GraphProto& g = *model.mutable_graph();
    AddInput(g, "x", {4});
    AddTensorInfo(as_input ? g.add_input() : g.add_value_info(), "w", dtype, dims);
    AddFloats(g, "w", {4});
    AddNode(g, "Add", {"x", "w"}, {"y"});
    AddOutput(g, "y");
    return LoadModelBytes(model.SerializeAsString()).status();
  };
  for (const bool as_input : {true, false}) {
    EXPECT_EQ(load(as_input, Proto::FLOAT, {4}), absl::OkStatus());
    EXPECT_EQ(load(as_input, Proto::FLOAT, {-1}), absl::OkStatus());
    const std::string_view where = as_input ? "its graph input" : "its value_info";
    EXPECT_EQ(
        load(as_input, Proto::DOUBLE, {4}),
        absl::InvalidArgumentError(absl::StrCat("model: initializer \"w\": is f32[4], ", where,
                                                " declares it f64[4]: one of the two is wrong")));
    EXPECT_EQ(load(as_input, Proto::FLOAT, {1, 4}).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(load(as_input, Proto::FLOAT, {3}).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(OnnxLoaderTest, NodesFollowTheirProducersOtherwiseInFileOrder) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    AddInput(g, "x", {4});
    AddNode(g, "Add", {"b", "a"}, {"y"});
    AddNode(g, "Relu", {"x"}, {"a"});
    AddNode(g, "Abs", {"x"}, {"b"});
    AddNode(g, "Neg", {"x"}, {"c"});
    AddOutput(g, "y");
    AddOutput(g, "c");
  });
  std::string order;
  for (const Node* node : graph.TopologicalOrder()) order += node->op() + " ";
  EXPECT_EQ(order, "Abs Relu Add Neg ");
}

TEST(OnnxLoaderTest, AnUnusedInitializerIsDropped) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    AddInput(g, "x", {4});
    AddFloats(g, "w", {4});
    AddNode(g, "Relu", {"x"}, {"y"});
    AddOutput(g, "y");
  });
  EXPECT_EQ(graph.Values().size(), 2u);
}

// The constant that import makes of a Constant node with the attribute set by `set`.
HostTensor ConstantOf(const std::function<void(onnx::NodeProto&)>& set) {
  const Graph graph = LoadGraph([&](GraphProto& g) {
    set(AddNode(g, "Constant", {}, {"y"}));
    AddOutput(g, "y");
  });
  EXPECT_EQ(graph.node_count(), 0);
  return graph.outputs().empty() ? HostTensor() : graph.outputs()[0].value->constant();
}

TEST(OnnxLoaderTest, ConstantNodesOfEveryFormAreConstants) {
  using onnx::AttributeProto;
  const HostTensor tensor =
      ConstantOf([](auto& n) { SetTensor(n, "value", Proto::INT8, {2}).set_raw_data("\x01\xff"); });
  EXPECT_EQ(ToInts(tensor).value(), (std::vector<int64_t>{1, -1}));
  const HostTensor number = ConstantOf(
      [](auto& n) { AddAttribute(n, "value_float", AttributeProto::FLOAT).set_f(1.5f); });
  EXPECT_EQ(number.data<float>()[0], 1.5f);
  EXPECT_TRUE(number.dims().empty());
  const HostTensor numbers = ConstantOf([](auto& n) {
    auto& a = AddAttribute(n, "value_floats", AttributeProto::FLOATS);
    a.add_floats(1);
    a.add_floats(2);
  });
  EXPECT_EQ(numbers.dims(), Dims{2});
  EXPECT_EQ(numbers.data<float>()[1], 2);
  EXPECT_EQ(ToInts(ConstantOf([](auto& n) { SetInt(n, "value_int", 7); })).value(),
            std::vector<int64_t>{7});
  EXPECT_EQ(ConstantOf([](auto& n) { SetInts(n, "value_ints", {1, 2, 3}); }).dims(), Dims{3});
  EXPECT_EQ(ConstantOf([](auto& n) {
              AddAttribute(n, "value_string", AttributeProto::STRING).set_s("a");
            }).strings(),
            std::vector<std::string>{"a"});
  EXPECT_EQ(ConstantOf([](auto& n) {
              AddAttribute(n, "value_strings", AttributeProto::STRINGS).add_strings("b");
            }).dims(),
            Dims{1});
}

// An If over c: then Add(x, w), else Neg(z).
void FillIf(GraphProto& g) {
  onnx::NodeProto& node = AddNode(g, "If", {"c"}, {"y"});
  GraphProto& then_branch = SetGraph(node, "then_branch");
  AddNode(then_branch, "Add", {"x", "w"}, {"t"});
  AddOutput(then_branch, "t");
  GraphProto& else_branch = SetGraph(node, "else_branch");
  AddNode(else_branch, "Neg", {"z"}, {"e"});
  AddOutput(else_branch, "e");
}

void FillOuter(GraphProto& g) {
  AddInput(g, "x", {4});
  AddInput(g, "z", {4});
  AddInput(g, "c", {}, Proto::BOOL);
  AddFloats(g, "w", {4});
}

TEST(OnnxLoaderTest, CapturesBecomeInputsOfEveryBodyAndConstantsAreCopied) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    FillOuter(g);
    FillIf(g);
    AddNode(g, "Add", {"y", "w"}, {"sum"});
    AddOutput(g, "sum");
  });
  const Node& node = OnlyNode(graph);
  ASSERT_EQ(node.captures(), 2);
  ASSERT_EQ(node.inputs().size(), 3u);
  for (const auto& [name, body] : node.bodies()) {
    ASSERT_EQ(body->inputs().size(), 2u) << name;
    EXPECT_EQ(body->inputs()[0]->name(), node.input(1).name());
    EXPECT_EQ(body->inputs()[1]->name(), node.input(2).name());
  }
  const Value& inner = OnlyNode(*node.bodies().at("then_branch")).input(1);
  const Value& outer = graph.TopologicalOrder()[1]->input(1);
  ASSERT_TRUE(inner.is_constant() && outer.is_constant());
  EXPECT_EQ(inner.constant().raw(), outer.constant().raw());  // the same bytes
  EXPECT_EQ(ToString(graph.outputs()[0].value->type()), "f32[4]");
}

TEST(OnnxLoaderTest, CapturesPassThroughTheBodiesBetween) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    FillOuter(g);
    onnx::NodeProto& node = AddNode(g, "If", {"c"}, {"result"});
    for (const char* branch : {"then_branch", "else_branch"}) {
      GraphProto& body = SetGraph(node, branch);
      FillIf(body);
      AddOutput(body, "y");
    }
    AddOutput(g, "result");
  });
  const Node& outer = OnlyNode(graph);
  EXPECT_EQ(outer.captures(), 3);  // c, x and z
  const Node& inner = OnlyNode(*outer.bodies().at("then_branch"));
  EXPECT_EQ(inner.captures(), 2);
  EXPECT_EQ(ToString(graph.outputs()[0].value->type()), "f32[4]");
}

TEST(OnnxLoaderTest, ABodysOwnNameHidesTheOuterOne) {
  const Graph graph = LoadGraph([](GraphProto& g) {
    FillOuter(g);
    onnx::NodeProto& node = AddNode(g, "If", {"c"}, {"y"});
    GraphProto& then_branch = SetGraph(node, "then_branch");
    AddFloats(then_branch, "x", {4});
    AddNode(then_branch, "Neg", {"x"}, {"t"});
    AddOutput(then_branch, "t");
    GraphProto& else_branch = SetGraph(node, "else_branch");
    AddNode(else_branch, "Neg", {"x"}, {"e"});
    AddOutput(else_branch, "e");
    AddOutput(g, "y");
  });
  EXPECT_TRUE(OnlyNode(*OnlyNode(graph).bodies().at("then_branch")).input(0).is_constant());
  EXPECT_TRUE(OnlyNode(*OnlyNode(graph).bodies().at("else_branch")).input(0).is_graph_input());
}

// A model of two external tensors in one file.
std::string SaveTwoExternal(const TempFolder& folder) {
  onnx::ModelProto model = EmptyModel();
  GraphProto& g = *model.mutable_graph();
  SetExternal(AddInitializer(g, "a", Proto::FLOAT, {4}), {{"location", "data"}});
  SetExternal(AddInitializer(g, "b", Proto::UINT8, {3}),
              {{"location", "data"}, {"offset", "17"}, {"length", "3"}});
  AddOutput(g, "a");
  AddOutput(g, "b");
  folder.Write("data", absl::StrCat(std::string(16, '\0'), "-xyz"));
  return Save(folder, model);
}

// Outputs of a body are matched by position.
TEST(OnnxLoaderTest, OutputsOfABodyMayHaveOneName) {
  for (std::string_view text : {
           R"(g (bool c, float[2] x) => (y, z) {
                y, z = If (c) <then_branch = t () => (float[2] a, float[2] a) { a = Relu(x) },
                               else_branch = e () => (float[2] b, float[2] d) { b = Neg(x)  d = Abs(x) }> })",
           R"(g (bool c, float[2] x) => (y, z) {
                y, z = If (c) <then_branch = t () => (float[2] x, float[2] x) {},
                               else_branch = e () => (float[2] x, float[2] x) {}> })",
           R"(g (bool c) => (y, z) <float[2] w = {1, 2}> {
                y, z = If (c) <then_branch = t () => (float[2] w, float[2] w) {},
                               else_branch = e () => (float[2] v, float[2] v) { v = Relu(w) }> })",
           R"(g (int64 trips, bool go, float[2] x) => (y, z, s, t) {
                y, z, s, t = Loop (trips, go, x, x)
                  <body = b (int64 i, bool c, float[2] u, float[2] v)
                       => (bool c, float[2] a, float[2] a, float[2] a, float[2] a) { a = Add(u, v) }> })",
           R"(g (float[2] x, float[3,2] xs) => (y, ys, zs) {
                y, ys, zs = Scan <num_scan_inputs = 1, body = b (float[2] u, float[2] v)
                       => (float[2] a, float[2] a, float[2] a) { a = Add(u, v) }> (x, xs) })",
           R"(g (bool c, float[2] x) => (y, z) {
                y, z = If (c) <then_branch = t () => (float[2] a_1, float[2] a, float[2] a) { a = Relu(x)  a_1 = Neg(x) },
                               else_branch = e () => (float[2] b, float[2] b, float[2] b) { b = Neg(x) }> })",
       }) {
    const absl::StatusOr<Graph> graph = TryGraphFromText(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
    EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph) << "\n" << text;
  }
}

TEST(ExternalDataTest, MappedTensorsLieInOneMapping) {
  TempFolder folder;
  absl::StatusOr<Graph> graph =
      LoadModel(SaveTwoExternal(folder), {.external_bytes = ExternalBytes::kMap});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto* a = static_cast<const char*>(graph->outputs()[0].value->constant().raw());
  const auto* b = static_cast<const char*>(graph->outputs()[1].value->constant().raw());
  EXPECT_EQ(b - a, 17);
  EXPECT_EQ(std::string_view(b, 3), "xyz");
}

TEST(ExternalDataTest, ReadTensorsOutliveTheFile) {
  TempFolder folder;
  absl::StatusOr<Graph> graph = LoadModel(SaveTwoExternal(folder));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::filesystem::resize_file(folder.path("data"), 0);
  EXPECT_EQ(
      std::string_view(static_cast<const char*>(graph->outputs()[1].value->constant().raw()), 3),
      "xyz");
}

TEST(ExternalDataTest, AFileThatShrinksWhileItIsReadIsDataLoss) {
  TempFolder folder;
  const std::string path = SaveTwoExternal(folder);
  FileCalls calls = SystemFileCalls();
  calls.pread = [](int fd, void* to, size_t bytes, off_t offset) -> ssize_t {
    return offset == 17 ? 0 : SystemFileCalls().pread(fd, to, bytes, offset);
  };
  ScopedFileCalls scope(calls);
  EXPECT_EQ(LoadModel(path).status().code(), absl::StatusCode::kDataLoss);
}

class LoaderCallsTest : public testing::TestWithParam<ExternalBytes> {};

TEST_P(LoaderCallsTest, EachFailingFileCallIsAStatusAndLeaksNothing) {
  TempFolder folder;
  const std::string path = SaveTwoExternal(folder);
  const LoadOptions options{.external_bytes = GetParam()};
  int calls = 0;
  {
    FailingCalls none(-1);
    ASSERT_TRUE(LoadModel(path, options).ok());
    EXPECT_EQ(none.open(), 0);
    calls = none.count();
  }
  int failed = 0;
  for (int n = 0; n < calls; ++n) {
    FailingCalls failing(n);
    failed += LoadModel(path, options).ok() ? 0 : 1;
    EXPECT_EQ(failing.open(), 0) << "call " << n;
  }
  EXPECT_GE(failed, 6);  // a failing close or munmap of what was read harms nothing
}

INSTANTIATE_TEST_SUITE_P(Bytes, LoaderCallsTest,
                         testing::Values(ExternalBytes::kRead, ExternalBytes::kMap),
                         [](const auto& info) {
                           return info.param == ExternalBytes::kRead ? "Read" : "Map";
                         });

TEST(OnnxLoaderTest, MemoryPeaksAtTheSizeOfTheFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has its own memory";
  constexpr int64_t kBytes = int64_t{96}
                             << 20;  // in one tensor, which a growing string would double
  TempFolder folder;
  {
    onnx::ModelProto model = ReluModel();
    AddFloats(*model.mutable_graph(), "w", {kBytes / 4});
    AddOutput(*model.mutable_graph(), "w");
    Save(folder, model);
  }
  absl::StatusOr<Graph> graph;
  const int64_t peak_bytes = PeakBytesOf([&] { graph = LoadModel(folder.path("model.onnx")); });
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_LE(peak_bytes, kBytes * 13 / 10);
}

TEST(OnnxLoaderTest, BytesAndFilesGiveTheSameMessages) {
  EXPECT_EQ(LoadModelBytes("ir_version: 8").status().message(),
            "model: is damaged or not a serialized onnx model: it is text");
  EXPECT_EQ(LoadModelBytes("").status().message(), "model: is empty");
  EXPECT_TRUE(LoadModelBytes(ReluModel().SerializeAsString()).ok());
}

}  // namespace
}  // namespace onnx_cudnn

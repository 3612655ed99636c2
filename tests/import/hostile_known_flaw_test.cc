// Known flaws of other programs, each under its name: we must have none of them. Two of the list
// are tested elsewhere: Gather beyond 2³¹ elements in hostile_index_test.cc, and ONNX's own version
// in third_party/versions.cmake.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/exec/cpu_device.h"
#include "runtime/import/onnx_writer.h"
#include "runtime/session/engines.h"
#include "tests/import/hostile_external.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

namespace fs = std::filesystem;
using Proto = onnx::TensorProto;
using onnx::GraphProto;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr int64_t kHuge = int64_t{1} << 62;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A function that calls itself through `between` others.
auto Recursion(int between) {
  return Model([=](onnx::ModelProto& m) {
    m.add_opset_import()->set_domain("d");
    m.mutable_opset_import(1)->set_version(1);
    for (int i = 0; i <= between; ++i) {
      onnx::FunctionProto& f = *m.add_functions();
      f.set_name("f" + std::to_string(i));
      f.set_domain("d");
      f.add_input("a");
      f.add_output("b");
      *f.add_opset_import() = m.opset_import(1);
      onnx::NodeProto& call = *f.add_node();
      call.set_op_type("f" + std::to_string((i + 1) % (between + 1)));
      call.set_domain("d");
      call.add_input("a");
      call.add_output("b");
    }
    m.mutable_graph()->mutable_node(0)->set_op_type("f0");
    m.mutable_graph()->mutable_node(0)->set_domain("d");
  });
}

// x f32[dims] → op → y with integer attributes.
auto Infer(const std::string& op, const std::vector<int64_t>& dims,
           std::vector<std::pair<std::string, std::vector<int64_t>>> lists,
           std::vector<std::pair<std::string, int64_t>> numbers = {}) {
  return EmptyGraph([=](GraphProto& g) {
    AddInput(g, "x", dims);
    AddFloats(g, "w", {4, 4, 1, 1});
    Names inputs = {"x"};
    if (op.starts_with("Conv")) inputs.push_back("w");
    onnx::NodeProto& node = AddNode(g, op, inputs, {"y"});
    for (const auto& [name, values] : lists) SetInts(node, name, values);
    for (const auto& [name, value] : numbers) SetInt(node, name, value);
    AddOutput(g, "y");
  });
}

// A Reshape to `rank` extents, of which the file holds the bytes `raw`.
auto Reshape(int64_t rank, const std::string& raw) {
  return EmptyGraph([=](GraphProto& g) {
    AddInput(g, "x", {4});
    AddInitializer(g, "shape", Proto::INT64, {rank}).set_raw_data(raw);
    AddNode(g, "Reshape", {"x", "shape"}, {"y"});
    AddOutput(g, "y");
  });
}

const HostileCase kCases[] = {
    {"Cve2022_25882_LocationUp", Location("../../../../../../etc/passwd"), kInvalid,
     "leaves the model's folder"},
    {"Cve2024_27318_LocationDownAndUp", Location("m/../../secret"), kInvalid,
     "leaves the model's folder"},
    {"Cve2024_27319_MessageBeyondItsBuffer", Model([](onnx::ModelProto& m) {
       m.mutable_graph()->mutable_node(0)->set_op_type(std::string(4000, 'a'));
     }),
     kInvalid, "no such op"},
    {"Cve2024_5187_ArchiveOfFilesWithPathsUp",
     Bytes("../../evil" + std::string(246, '\0') + "ustar" + std::string(251, '\0')), kInvalid, ""},
    {"Cve2026_27489_LocationIsALink",
     At("file", [](auto& f) { fs::create_symlink("../secret", f.path("m/file")); }), kInvalid,
     "cannot open"},
    {"Cve2026_34445_KeyIsAnAttributeOfTheLoader",
     Entries({{"location", "data"}, {"__class__", "x"}}), kInvalid, "key \"__class__\" is unknown"},
    {"Cve2026_34445_LengthAsksForMemory",
     Entries({{"location", "data"}, {"length", "9223372036854775807"}}), kInvalid, "length is"},
    {"Cve2026_34446_LocationIsAHardLink",
     At("file", [](auto& f) { fs::create_hard_link(f.path("secret"), f.path("m/file")); }),
     kInvalid, "more than one name"},
    {"Cve2026_34447_FolderOfLocationIsALink",
     At("sub/secret", [](auto& f) { fs::create_directory_symlink("..", f.path("m/sub")); }),
     kInvalid, "cannot open"},
    {"Ghsa7w46_FunctionCallsItself", Recursion(0), kInvalid, ""},
    {"Ghsa7w46_FunctionsCallEachOther", Recursion(2), kInvalid, ""},
    {"SparseTensorSkipsThePathCheck", EmptyGraph([](GraphProto& g) {
       onnx::SparseTensorProto& sparse = *g.add_sparse_initializer();
       sparse.mutable_values()->set_name("w");
       SetExternal(*sparse.mutable_values(), {{"location", "/etc/passwd"}});
       AddOutput(g, "w");
     }),
     kUnimplemented, "sparse"},
    {"RawDataShorterThanDimsInShapeInference", Reshape(1000, "12345678"), kInvalid,
     "holds 8 bytes"},
    {"RawDataOfHalfAnElementInShapeInference", Reshape(1, "1234"), kInvalid, "holds 4 bytes"},
    {"ShapeInferenceOverflow_ConvPads",
     Infer("Conv", {1, 4, 8, 8}, {{"pads", {kHuge, kHuge, kHuge, kHuge}}}), kInvalid, ""},
    {"ShapeInferenceOverflow_ConvTransposeStrides",
     Infer("ConvTranspose", {1, 4, 8, 8}, {{"strides", {kHuge, kHuge}}}), kInvalid, ""},
    {"ShapeInferenceOverflow_PoolDilations",
     Infer("MaxPool", {1, 4, 8, 8}, {{"kernel_shape", {3, 3}}, {"dilations", {kHuge, kHuge}}}),
     kInvalid, ""},
    {"ShapeInferenceOverflow_PoolKernel",
     Infer("AveragePool", {1, 4, 8, 8}, {{"kernel_shape", {INT64_MAX, INT64_MAX}}}), kInvalid,
     "is larger than the padded input"},
    {"ShapeInferenceOverflow_BlockSize",
     Infer("DepthToSpace", {1, 4, 8, 8}, {}, {{"blocksize", int64_t{1} << 33}}), kInvalid, ""},
    {"ShapeInferenceOverflow_SplitOutputs",
     Infer("Split", {1, 4, 8, 8}, {}, {{"num_outputs", INT64_MAX}}), kInvalid, ""},
};

class KnownFlawTest : public testing::TestWithParam<HostileCase> {};
TEST_P(KnownFlawTest, IsNotOurs) { RunHostile(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Loader, KnownFlawTest, testing::ValuesIn(kCases), NameOfHostile);

// CVE-2025-51480: writing a model wrote files at the locations named by its tensors.
TEST(KnownFlawWriterTest, Cve2025_51480_WritesNoExternalData) {
  TempFolder folder;
  const absl::StatusOr<Graph> graph = LoadModel(SaveExternal(folder, {{"location", "data"}}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  folder.Write("m/data", "untouched");
  fs::create_directory(folder.path("out"));
  ASSERT_EQ(WriteModelFile(*graph, folder.path("out/model.onnx")), absl::OkStatus());
  EXPECT_EQ(ReadFile(folder.path("m/data")), "untouched");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path("out")), {}), 1);
}

// Two models of equal structure share one cache key: each keeps its own weights and shapes.
TEST(KnownFlawCacheTest, ModelsOfEqualStructureKeepTheirConstants) {
  const auto model = [](const char* weight, const char* dims) {
    return GraphFromText(absl::StrCat("g (float[2,2] x) => (float[a,b] y) <float[2,2] w = ", weight,
                                      ", int64[2] s = ", dims,
                                      "> { m = MatMul(x, w)  y = Reshape(m, s) }"));
  };
  const absl::StatusOr<OwnedTarget> cpu = MakeTarget("cpu");
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ConstantStore constants(*device);
  const auto run = [&](const Graph& graph) {
    const auto program = BuildProgram(graph, {}, cpu->target, {});
    const auto executor = Executor::Create(*program, *device, constants);
    return RunOn(**executor, MakeInputs(graph))->front();
  };
  const HostTensor one = run(model("{1, 0, 0, 1}", "{1, 4}")),
                   two = run(model("{2, 0, 0, 2}", "{4, 1}"));
  EXPECT_EQ(one.dims(), (Dims{1, 4}));
  EXPECT_EQ(two.dims(), (Dims{4, 1}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(two.data<float>()[i], 2 * one.data<float>()[i]);
}

}  // namespace
}  // namespace onnx_cudnn

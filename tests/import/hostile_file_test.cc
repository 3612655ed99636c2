// Classes 1 and 2 of refused models: the file as a whole, and limits.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "tests/support/hostile.h"

namespace onnx_cudnn {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

std::string ReluBytes() { return ReluModel().SerializeAsString(); }

std::string LargeBytes() {
  onnx::ModelProto model = ReluModel();
  AddFloats(*model.mutable_graph(), "w", {100'000});
  return model.SerializeAsString();
}

std::string RandomBytes() {
  std::string bytes;
  for (uint32_t i = 0, state = 1; i < 4096; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

// A serialized field with this number and content.
std::string Field(int number, const std::string& content) {
  std::string length;
  for (size_t rest = content.size(); length.empty() || rest > 0; rest >>= 7) {
    length += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
  }
  return std::string(1, static_cast<char>(number << 3 | 2)) + length + content;
}

// graph.input[0].type: nested sequences.
std::string DeepTypes(int depth) {
  std::string type;
  for (int i = 0; i < depth; ++i) type = Field(4, Field(1, type));
  return Field(7, Field(11, Field(2, type)));
}

auto Opset(int64_t version) {
  return Model([=](onnx::ModelProto& m) { m.mutable_opset_import(0)->set_version(version); });
}

auto IrVersion(int64_t version) {
  return Model([=](onnx::ModelProto& m) { m.set_ir_version(version); });
}

auto Domain(const std::string& domain, bool imported) {
  return Model([=](onnx::ModelProto& m) {
    m.mutable_graph()->mutable_node(0)->set_domain(domain);
    if (!imported) return;
    m.add_opset_import()->set_domain(domain);
    m.mutable_opset_import(1)->set_version(1);
  });
}

const HostileCase kFileCases[] = {
    {"Valid", Bytes(ReluBytes()), absl::StatusCode::kOk},
    {"Empty", Bytes(""), kInvalid, "is empty"},
    {"Truncated", Bytes(LargeBytes().substr(0, 200'000)), kInvalid, "damaged"},
    {"TruncatedByOneByte", Bytes(ReluBytes().substr(0, ReluBytes().size() - 1)), kInvalid,
     "damaged"},
    {"TrailingZeros", Bytes(ReluBytes() + std::string(16, '\0')), kInvalid, "damaged"},
    {"TrailingText", Bytes(ReluBytes() + "garbage"), kInvalid, "damaged"},
    {"TrailingUnknownField", Bytes(ReluBytes() + Field(13, "garbage")), kInvalid, "damaged"},
    {"ModelTwice", Bytes(ReluBytes() + ReluBytes()), kInvalid, "damaged"},
    {"Dummy", Bytes("dummy"), kInvalid, "it is text"},
    {"TextForm", Bytes("ir_version: 8\ngraph { name: \"g\" }\n"), kInvalid, "it is text"},
    {"Json", Bytes("{\"irVersion\": \"8\"}"), kInvalid, "it is text"},
    {"GitLfsPointer", Bytes("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), kInvalid,
     "git lfs"},
    {"ZipArchive", Bytes(std::string("PK\x03\x04\x14\0\0\0", 8)), kInvalid, "zip"},
    {"RandomBytes", Bytes(RandomBytes()), kInvalid, "damaged"},
    {"LengthBeyondTheFile", Bytes("\x3a\xff\xff\xff\xff\x07"), kInvalid, "damaged"},
    {"PayloadBeyondTheFile", Bytes(Field(7, Field(5, "\x4a\xff\xff\xff\xff\x07"))), kInvalid,
     "damaged"},
    {"OverlongVarint", Bytes("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), kInvalid,
     "damaged"},
    {"EndOfGroupFirst", Bytes("\x3c"), kInvalid, "damaged"},
    {"NoGraph", Model([](onnx::ModelProto& m) { m.clear_graph(); }), kInvalid, "holds no graph"},
    {"IrVersionMissing", Model([](onnx::ModelProto& m) { m.clear_ir_version(); }), kInvalid,
     "ir_version"},
    {"IrVersionZero", IrVersion(0), kInvalid, "ir_version"},
    {"IrVersionNegative", IrVersion(-1), kInvalid, "ir_version"},
    {"IrVersionTooOld", IrVersion(2), kUnimplemented, "ir_version 2"},
    {"IrVersionTooNew", IrVersion(1000), kUnimplemented, "ir_version 1000"},
    {"NoOpset", Model([](onnx::ModelProto& m) { m.clear_opset_import(); }), kInvalid,
     "imports no opset"},
    {"OpsetTwice", Model([](onnx::ModelProto& m) { m.add_opset_import()->set_version(17); }),
     kInvalid, "and as opset 17"},
    {"OpsetUnderBothNames", Model([](onnx::ModelProto& m) {
       m.add_opset_import()->set_domain("ai.onnx");
       m.mutable_opset_import(1)->set_version(17);
     }),
     kInvalid, "and as opset 17"},
    {"OpsetZero", Opset(0), kInvalid, "opset 0"},
    {"OpsetNegative", Opset(-7), kInvalid, "opset -7"},
    {"OpsetBeyondInt", Opset(int64_t{1} << 40), kInvalid, "opset 1099511627776"},
    {"OpsetTooNew", Opset(29), kUnimplemented, "Relu (opset 29) on f32: opsets 1 to 28 are taken"},
    {"ForeignDomain", Domain("com.microsoft", true), kUnimplemented,
     "com.microsoft.Relu (opset 1) on f32: the op is not implemented"},
    {"ClassicalDomain", Domain("ai.onnx.ml", true), kInvalid,
     "opset 1 has no such op in domain \"ai.onnx.ml\""},
    {"OurOwnDomain", Domain("onnx_cudnn", true), kUnimplemented,
     "onnx_cudnn.Relu (opset 1) on f32"},
    {"DomainNotImported", Domain("com.example", false), kInvalid,
     "imports no opset of domain \"com.example\""},
    {"UnknownOp",
     Model([](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_op_type("Reluu"); }),
     kInvalid, "no such op"},
    {"Training", Model([](onnx::ModelProto& m) { m.add_training_info(); }), kUnimplemented,
     "training"},
    {"PetabytesToFold", EmptyGraph([](onnx::GraphProto& g) {
       AddInts(g, "shape", {int64_t{1} << 25, int64_t{1} << 25});
       AddNode(g, "ConstantOfShape", {"shape"}, {"y"});
       AddOutput(g, "y");
     }),
     absl::StatusCode::kOk},  // folding it is bounded elsewhere
    {"MoreThanMemoryToFold", EmptyGraph([](onnx::GraphProto& g) {
       AddInts(g, "shape", {int64_t{1} << 40, int64_t{1} << 40});
       AddNode(g, "ConstantOfShape", {"shape"}, {"y"});
       AddOutput(g, "y");
     }),
     kInvalid, "more elements than memory can"},
    {"Folder", [](const TempFolder& folder) { return folder.path(); }, kInvalid,
     "not a regular file"},
    {"Missing", [](const TempFolder& folder) { return folder.path("none.onnx"); },
     absl::StatusCode::kNotFound, "none.onnx"},
    {"Fifo",
     [](const TempFolder& folder) {
       mkfifo(folder.path("fifo").c_str(), 0600);
       return folder.path("fifo");
     },
     kInvalid, "not a regular file"},
};

// x → If → y, nested `depth` times.
void NestIfs(onnx::GraphProto& graph, int depth) {
  if (depth == 0) {
    AddNode(graph, "Identity", {"x"}, {"y0"});
    AddOutput(graph, "y0");
    return;
  }
  const std::string y = absl::StrCat("y", depth);
  onnx::NodeProto& node = AddNode(graph, "If", {"condition"}, {y});
  NestIfs(SetGraph(node, "then_branch"), depth - 1);
  onnx::GraphProto& otherwise = SetGraph(node, "else_branch");
  AddNode(otherwise, "Identity", {"x"}, {"z" + y});
  AddOutput(otherwise, "z" + y);
  AddOutput(graph, y);
}

auto NestedIfs(int depth) {
  return EmptyGraph([=](onnx::GraphProto& g) {
    AddInput(g, "x", {1});
    AddInput(g, "condition", {}, onnx::TensorProto::BOOL);
    NestIfs(g, depth);
  });
}

// Functions f0 … of one input and output; f[i] calls `calls` times f[next(i)]; the graph calls f0.
auto Functions(int count, int calls, std::function<int(int)> next) {
  return Model([=](onnx::ModelProto& m) {
    m.add_opset_import()->set_domain("d");
    m.mutable_opset_import(1)->set_version(1);
    m.mutable_graph()->mutable_node(0)->set_op_type("f0");
    m.mutable_graph()->mutable_node(0)->set_domain("d");
    for (int i = 0; i < count; ++i) {
      onnx::FunctionProto& f = *m.add_functions();
      f.set_name(absl::StrCat("f", i));
      f.set_domain("d");
      f.add_input("a0");
      for (const onnx::OperatorSetIdProto& import : m.opset_import())
        *f.add_opset_import() = import;
      const bool leaf = next(i) >= count;
      for (int k = 0; k < calls; ++k) {
        onnx::NodeProto& node = *f.add_node();
        node.set_op_type(leaf ? "Relu" : absl::StrCat("f", next(i)));
        if (!leaf) node.set_domain("d");
        node.add_input(absl::StrCat("a", k));
        node.add_output(absl::StrCat("a", k + 1));
      }
      f.add_output(absl::StrCat("a", calls));
    }
  });
}

LoadOptions With(auto set) {
  LoadOptions options;
  set(options.limits);
  return options;
}

auto Renamed(const std::string& name) {
  return Model([=](onnx::ModelProto& m) {
    m.mutable_graph()->mutable_node(0)->set_output(0, name);
    m.mutable_graph()->mutable_output(0)->set_name(name);
  });
}

auto Chain(int nodes) {
  return EmptyGraph([=](onnx::GraphProto& g) {
    AddInput(g, "v0", {1});
    for (int i = 0; i < nodes; ++i) {
      AddNode(g, "Relu", {absl::StrCat("v", i)}, {absl::StrCat("v", i + 1)});
    }
    AddOutput(g, absl::StrCat("v", nodes));
  });
}

const HostileCase kLimitCases[] = {
    {"TypesWithinProtobufDepth", Bytes(DeepTypes(20)), kInvalid, "ir_version"},  // parses
    {"TypesBeyondProtobufDepth", Bytes(DeepTypes(200)), kInvalid, "damaged"},
    {"TypesFarBeyondProtobufDepth", Bytes(DeepTypes(50'000)), kInvalid, "damaged"},
    {"BodiesBeyondProtobufDepth", NestedIfs(60), kInvalid, "damaged"},
    {"BodiesWithinTheLimit", NestedIfs(16), absl::StatusCode::kOk},
    {"BodiesBeyondTheLimit", NestedIfs(17), kUnimplemented, "limit of 16"},
    {"FileBeyondTheLimit", Bytes(ReluBytes()), kUnimplemented, "the limit is 20",
     With([](Limits& l) { l.file_bytes = 20; })},
    {"NodesBeyondTheLimit", Chain(1001), kUnimplemented, "limit of 1000",
     With([](Limits& l) { l.nodes = 1000; })},
    {"NodesOfBodiesCount", NestedIfs(10), kUnimplemented, "limit of 20",
     With([](Limits& l) { l.nodes = 20; })},
    {"NameAtTheLimit", Renamed(std::string(4096, 'a')), absl::StatusCode::kOk},
    {"NameBeyondTheLimit", Renamed(std::string(4097, 'a')), kUnimplemented, "the limit is 4096"},
    {"NameWithEscapes", Renamed("\x1b[31mred"), kInvalid, "control characters"},
    {"NameWithZeroByte", Renamed(std::string("a\0b", 3)), kInvalid, "control characters"},
    {"RankOfInput", EmptyGraph([](onnx::GraphProto& g) {
       AddInput(g, "x", std::vector<int64_t>(9, 1));
       AddNode(g, "Relu", {"x"}, {"y"});
       AddOutput(g, "y");
     }),
     kUnimplemented, "rank 9"},
    {"RankOfInitializer", EmptyGraph([](onnx::GraphProto& g) {
       AddFloats(g, "w", std::vector<int64_t>(9, 1));
       AddOutput(g, "w");
     }),
     kUnimplemented, "rank 9"},
    {"RankOfResult", EmptyGraph([](onnx::GraphProto& g) {
       AddInput(g, "x", std::vector<int64_t>(8, 1));
       AddInts(g, "axes", {0});
       AddNode(g, "Unsqueeze", {"x", "axes"}, {"y"});
       AddOutput(g, "y");
     }),
     kUnimplemented, "rank 9"},
    {"RankOfMillions", EmptyGraph([](onnx::GraphProto& g) {
       AddInitializer(g, "w", onnx::TensorProto::FLOAT, std::vector<int64_t>(1'000'000, 1));
       AddOutput(g, "w");
     }),
     kUnimplemented, "rank 1000000"},
    {"FunctionCallsItself", Functions(1, 1, [](int) { return 0; }), kInvalid, ""},
    {"FunctionsCallInACircle", Functions(3, 1, [](int i) { return (i + 1) % 3; }), kInvalid, ""},
    {"FunctionsThatDouble", Functions(40, 2, [](int i) { return i + 1; }), kUnimplemented,
     "1000000"},
    {"FunctionsTooDeep", Functions(101, 1, [](int i) { return i + 1; }), kUnimplemented, "100"},
    {"TooManyFunctions", Functions(10'001, 1, [](int) { return 20'000; }), kUnimplemented, "10000"},
};

HOSTILE_SUITE(HostileFileTest)
INSTANTIATE_TEST_SUITE_P(File, HostileFileTest, testing::ValuesIn(kFileCases), NameOfHostile);
INSTANTIATE_TEST_SUITE_P(Limit, HostileFileTest, testing::ValuesIn(kLimitCases), NameOfHostile);

}  // namespace
}  // namespace onnx_cudnn

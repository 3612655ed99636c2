// Compiled models on the CPU device: written, loaded, run.
#include "runtime/session/compiled_model.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/compile_model.h"
#include "tests/session/shifted_relu.h"
#include "tests/support/edited_parts.h"
#include "tests/support/graph_text.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

// A convolution, BatchNormalization and Relu: the passes fold the second into the first.
std::string ConvText() {
  std::vector<std::string> weights;
  for (int i = 0; i < 36; ++i) weights.push_back(absl::StrCat("0.", i + 1));
  return absl::StrCat(R"(
      g (float[N,2,4,4] x) => (float[N,2,4,4] y)
        <float[2,2,3,3] w = {)",
                      absl::StrJoin(weights, ", "), R"(}, float[2] s = {0.3, 1.7},
         float[2] b = {0.1, -3}, float[2] m = {1, 2}, float[2] v = {0.5, 2}> {
        c = Conv<pads = [1, 1, 1, 1]>(x, w)
        n = BatchNormalization(c, s, b, m, v)
        y = Relu(n)
      })");
}

CompileReport CompileTo(const TempFolder& folder, const std::string& text, CompileRequest request) {
  const auto report = CompileModel(GraphFromText(text), request, folder.path("m.ocp"));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(CompileReport());
}

CompileRequest ForConv(std::string target, SessionOptions options = {}) {
  CompileRequest request{.target = std::move(target), .options = std::move(options)};
  request.inputs.dims["x"] = {1, 2, 4, 4};
  return request;
}

std::vector<float> RunConv(const Session& session, int64_t n = 1) {
  std::vector<float> x(n * 32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 64) / 7 - 3;
  auto outputs = session.Run({View(x.data(), {n, 2, 4, 4})});
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return Values(outputs.value()[0]);
}

Session Load(const std::string& path, const SessionOptions& options = {}) {
  auto session = Session::Load(path, options);
  EXPECT_TRUE(session.ok()) << session.error().message;
  return std::move(session).value();
}

const SessionOptions kOnCpu = {.device = DeviceChoice::kCpu};

std::string NotesOf(const Session& session) {
  return absl::StrJoin(session.stats().tune_notes, "\n");
}

// The fixed name of drafts before, which two compilations shared.
TEST(CompiledModelTest, EachCompilationHasADraftOfItsOwn) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("m.ocp.draft"));
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] { CompileTo(folder, ConvText(), ForConv("cpu")); });
  }
  CompileTo(folder, ConvText(), ForConv("cpu"));
  for (std::thread& other : others) other.join();
  RunConv(Load(folder.path("m.ocp"), {.device = DeviceChoice::kCpu}));
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, std::set<std::string>({"m.ocp", "m.ocp.draft"}));
}

TEST(CompiledModelTest, TheInputsOfAFileAreChosenByWhatItTakes) {
  const TempFolder folder;
  const std::string model = folder.Write("m.onnx", *ModelBytesFromText(R"(
      g (float[N] x, int64[R] shape) => (float[A,B] y) { y = Reshape(x, shape) })"));
  std::vector<std::string> asked;
  const auto choose = [&](const std::vector<ValueInfo>& infos) -> Result<CompiledInputs> {
    for (const ValueInfo& info : infos) asked.push_back(ToString(info));
    CompiledInputs inputs;
    inputs.dims = {{"x", {6}}, {"shape", {2}}};
    inputs.values = {{"x", HostTensor::Allocate(DType::kF32, {6})},
                     {"shape", HostTensor::Ints({2, 3})}};
    return inputs;
  };
  const auto report = CompileModelFile(model, {.target = "cpu"}, choose, folder.path("m.ocp"));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(asked, std::vector<std::string>({"x f32[N]", "shape i64[R]"}));
  const auto refuses = [](const std::vector<ValueInfo>&) -> Result<CompiledInputs> {
    return Error{ErrorCode::kInvalidArgument, "no input z"};
  };
  const auto refused = CompileModelFile(model, {.target = "cpu"}, refuses, folder.path("n.ocp"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no input z");
}

TEST(CompiledModelTest, RunsLikeTheModelToTheLastBit) {
  const TempFolder folder;
  const CompileReport report = CompileTo(folder, ConvText(), ForConv("cpu"));
  EXPECT_GT(report.bytes, 0);
  EXPECT_EQ(report.not_optimized, "");
  const Session expected = LoadText(ConvText(), kOnCpu);
  const Session session = Load(folder.path("m.ocp"), kOnCpu);
  EXPECT_EQ(NotesOf(session), "");
  EXPECT_EQ(ToString(session.inputs()[0]), "x f32[N,2,4,4]");
  EXPECT_EQ(ToString(session.outputs()[0]), ToString(expected.outputs()[0]));
  for (const int64_t n : {1, 3}) EXPECT_EQ(RunConv(session, n), RunConv(expected, n));
}

TEST(CompiledModelTest, LoadsFromMemory) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("cpu"));
  std::string bytes = ReadFile(folder.path("m.ocp"), 1 << 20).value();
  auto session = Session::LoadBytes(bytes, kOnCpu);
  bytes.assign(bytes.size(), 'x');
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(RunConv(session.value()), RunConv(LoadText(ConvText(), kOnCpu)));
}

// The passes' result is in the file: nothing else of the model is read.
TEST(CompiledModelTest, LoadsWithoutTheModelThatItWasMadeFrom) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("cpu"));
  const auto without = [](std::string_view name, std::string&) { return name != kModelPart; };
  EditParts(folder.path("m.ocp"), folder.path("e.ocp"), without);
  EXPECT_EQ(RunConv(Load(folder.path("e.ocp"), kOnCpu)), RunConv(LoadText(ConvText(), kOnCpu)));
  const absl::StatusOr<File> file = File::Open(folder.path("e.ocp"));
  const auto compiled = CompiledModel::Create(PartsFile::Open(*file).value());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const absl::StatusOr<Graph> optimized = (*compiled)->Optimized();
  ASSERT_TRUE(optimized.ok()) << optimized.status();
  for (const Node* node : optimized->TopologicalOrder()) {
    EXPECT_NE(node->op(), "BatchNormalization");
  }
}

TEST(CompiledModelTest, HoldsWeightsOfBothModelsOnce) {
  const TempFolder folder;
  // Nothing is folded, so both models have the same weights.
  CompileTo(folder, ConvText(), ForConv("cpu", {.optimization_level = 0}));
  const absl::StatusOr<File> file = File::Open(folder.path("m.ocp"));
  const auto parts = PartsFile::Open(*file);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)->parts(),
            (std::vector<std::string_view>{"w1", "model", "optimized", "about"}));
}

TEST(CompiledModelTest, ForAnotherDeviceIsPlannedAgain) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("h200"));
  const std::vector<float> expected = RunConv(LoadText(ConvText(), kOnCpu));
  const Session session = Load(folder.path("m.ocp"), kOnCpu);
  EXPECT_EQ(NotesOf(session), "compiled for h200, here is cpu: planned again from its model");
  EXPECT_EQ(RunConv(session), expected);
  // The CPU device with the rules of the target.
  const Session there = Load(folder.path("m.ocp"), {.target = "h200"});
  EXPECT_EQ(NotesOf(there), "");
  EXPECT_EQ(RunConv(there), RunConv(LoadText(ConvText(), {.target = "h200"})));
}

TEST(CompiledModelTest, OfAnotherVersionIsPlannedAgain) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("cpu"));
  EditParts(folder.path("m.ocp"), folder.path("e.ocp"), [](std::string_view name, std::string& s) {
    if (name == kFactsPart) s = absl::StrReplaceAll(s, {{ThisVersion(), "0.0.7 at\\033abc"}});
    return name != kOptimizedPart;
  });
  const Session session = Load(folder.path("e.ocp"), kOnCpu);
  EXPECT_EQ(NotesOf(session), absl::StrCat("compiled by version 0.0.7 at\\x1babc, here is ",
                                           ThisVersion(), ": planned again from its model"));
  EXPECT_EQ(RunConv(session), RunConv(LoadText(ConvText(), kOnCpu)));
}

TEST(CompiledModelTest, TakesItsPrecisionUnlessAnotherIsAskedFor) {
  const TempFolder folder;
  const SessionOptions half = {.precision = PrecisionChoice::kFp16, .target = "h200"};
  CompileTo(folder, ConvText(), ForConv("h200", {.precision = PrecisionChoice::kFp16}));
  const std::vector<float> in_halfs = RunConv(LoadText(ConvText(), half));
  const Session session = Load(folder.path("m.ocp"), {.target = "h200"});
  EXPECT_EQ(session.precision(), PrecisionChoice::kFp16);
  EXPECT_EQ(NotesOf(session), "");
  EXPECT_EQ(RunConv(session), in_halfs);
  const SessionOptions strict = {.precision = PrecisionChoice::kStrict, .target = "h200"};
  const Session again = Load(folder.path("m.ocp"), strict);
  EXPECT_EQ(NotesOf(again),
            "compiled with precision fp16, here strict is asked for: planned again from its model");
  EXPECT_NE(RunConv(again), in_halfs);
  EXPECT_EQ(RunConv(again), RunConv(LoadText(ConvText(), strict)));
}

TEST(CompiledModelTest, OfRandomNumbersKeepsTheirSequence) {
  const std::string text = R"(
      g (float[4] x) => (float[4] y) {
        a = RandomNormal<shape = [4], seed = 1.0>()
        b = RandomNormal<shape = [4], seed = 1.0>()
        c = Mul(b, x)
        y = Add(a, c)
      })";
  const TempFolder folder;
  const CompileReport report = CompileTo(folder, text, {.inputs = {.dims = {{"x", {4}}}}});
  EXPECT_TRUE(absl::StrContains(report.not_optimized, "draws random numbers"));
  const std::array<float, 4> x = {1, 2, 3, 4};
  const auto run = [&](const Session& session) {
    return Values(session.Run({View(x.data(), {4})}).value()[0]);
  };
  const Session session = Load(folder.path("m.ocp"), kOnCpu);
  EXPECT_EQ(run(session), run(LoadText(text, kOnCpu)));
  EXPECT_TRUE(absl::StrContains(NotesOf(session), "draws random numbers")) << NotesOf(session);
}

TEST(CompiledModelTest, OfSequencesAndBranchesRuns) {
  const std::string text = R"(
      g (float[4] x, bool c) => (float[K] y) <float[4] k = {1, -2, 3, -4}> {
        s = If(c)<then_branch = t () => (float[4] a) { a = Add(x, k) },
                  else_branch = e () => (float[4] a) { a = Sub(x, k) }>
        f = Greater(s, k)
        y = Compress(s, f)
      })";
  const TempFolder folder;
  CompileTo(folder, text, {.inputs = {.dims = {{"x", {4}}, {"c", {}}}}});
  const std::array<float, 4> x = {1, 2, 3, -4};
  const Session session = Load(folder.path("m.ocp"), kOnCpu), expected = LoadText(text, kOnCpu);
  for (const bool c : {true, false}) {
    const std::vector<NamedView> inputs = {View(x.data(), {4}), View(&c, {})};
    EXPECT_EQ(Values(session.Run(inputs).value()[0]), Values(expected.Run(inputs).value()[0]));
  }
}

TEST(CompiledModelTest, EachFlippedByteIsAnErrorOrChangesNothing) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("cpu"));
  const std::string whole = ReadFile(folder.path("m.ocp"), 1 << 20).value();
  const std::vector<float> expected = RunConv(LoadText(ConvText(), kOnCpu));
  int refused = 0;
  for (size_t i = 0; i < whole.size(); i += 3) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    auto session = Session::LoadBytes(flipped, kOnCpu);
    refused += session.ok() ? 0 : 1;
    if (session.ok()) {
      EXPECT_EQ(RunConv(session.value()), expected) << i;
    }
  }
  EXPECT_GT(refused, 100);  // what is read: the header, the table, the optimized model, its weights
}

TEST(CompiledModelTest, BadFilesAreErrorsThatNameThem) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("cpu"));
  const std::string path = folder.path("m.ocp"), edited = folder.path("e.ocp");
  const std::string whole = ReadFile(path, 1 << 20).value();
  folder.Write("e.ocp", whole.substr(0, whole.size() / 2));
  ExpectError(Session::Load(edited, kOnCpu), ErrorCode::kInvalidArgument,
              absl::StrCat(edited, ": has "));
  const auto without_facts = [](std::string_view name, std::string&) { return name != kFactsPart; };
  EditParts(path, edited, without_facts);
  ExpectError(Session::Load(edited, kOnCpu), ErrorCode::kInvalidArgument, "has no part \"about\"");
  EditParts(path, edited, [](std::string_view name, std::string& bytes) {
    if (name == kFactsPart) bytes = "precision fp12\n";
    return true;
  });
  ExpectError(Session::Load(edited, kOnCpu), ErrorCode::kInvalidArgument, "precision fp12");
  const auto none = [](std::string_view name, std::string&) { return name != kOptimizedPart; };
  EditParts(path, edited, none);
  ExpectError(Session::Load(edited, kOnCpu), ErrorCode::kInvalidArgument,
              "has no part \"optimized\"");
}

TEST(CompiledModelTest, ACompiledModelCompilesAgain) {
  const TempFolder folder;
  CompileTo(folder, ConvText(), ForConv("h200"));
  const absl::StatusOr<Graph> model = LoadModel(folder.path("m.ocp"));
  ASSERT_TRUE(model.ok()) << model.status();
  // Onto the file whose weights the Graph maps.
  const auto report = CompileModel(*model, ForConv("cpu"), folder.path("m.ocp"));
  ASSERT_TRUE(report.ok()) << report.status();
  const Session session = Load(folder.path("m.ocp"), kOnCpu);
  EXPECT_EQ(NotesOf(session), "");
  EXPECT_EQ(RunConv(session), RunConv(LoadText(ConvText(), kOnCpu)));
}

TEST(CompiledFactsTest, SurviveTheirText) {
  const CompiledFacts facts = {.version = "1 at 2",
                               .device = "h200",
                               .compute_capability = 90,
                               .optimization_level = 1,
                               .precision = PrecisionChoice::kBf16,
                               .partitioner = PartitionerChoice::kCost,
                               .disabled_passes = {"fold-pad", "fold-bias"},
                               .keep_f32 = {"a node\n\"\xff"},
                               .engines = {"cudnn 9.19.0"},
                               .not_optimized = "why\tnot"};
  const absl::StatusOr<CompiledFacts> read = FactsFromText(ToText(facts));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, facts);
  EXPECT_FALSE(FactsFromText("colour blue\n").ok());
  EXPECT_FALSE(FactsFromText("level high\n").ok());
}

TEST(CompiledFactsTest, SayWhatDiffers) {
  CompiledFacts facts = {.version = ThisVersion(), .device = "h100", .compute_capability = 90};
  DeviceInfo info = {.name = "nvidia h100 80gb hbm3", .compute_capability = 90};
  EXPECT_EQ(WhatDiffers(facts, {}, info), "");
  EXPECT_EQ(WhatDiffers(facts, {.precision = PrecisionChoice::kTf32}, info), "");
  EXPECT_EQ(WhatDiffers(facts, {.optimization_level = 1}, info),
            "compiled with optimization level 2, here 1 is asked for");
  EXPECT_EQ(WhatDiffers(facts, {.disabled_passes = {"fold-pad"}}, info),
            "compiled with disabled passes: none, here are: fold-pad");
  EXPECT_EQ(WhatDiffers(facts, {.keep_f32 = {"n"}}, info),
            "compiled with nodes kept in f32: none, here are: n");
  info.compute_capability = 80;
  EXPECT_EQ(WhatDiffers(facts, {}, info), "compiled for compute capability 9.0, here it is 8.0");
  info.name = "h200";
  EXPECT_EQ(WhatDiffers(facts, {}, info), "compiled for h100, here is h200");
}

TEST(CompiledFactsTest, KnowADeviceByItsProduct) {
  EXPECT_TRUE(AreOneDevice("h200", "h200"));
  EXPECT_TRUE(AreOneDevice("nvidia geforce rtx 4090", "rtx4090"));
  EXPECT_TRUE(AreOneDevice("a10", "nvidia a10"));
  EXPECT_TRUE(AreOneDevice("a100", "nvidia a100-sxm4-80gb"));
  EXPECT_FALSE(AreOneDevice("a10", "nvidia a100-sxm4-80gb"));
  EXPECT_FALSE(AreOneDevice("l4", "nvidia l40"));
  EXPECT_FALSE(AreOneDevice("h100", "h200"));
}

}  // namespace
}  // namespace onnx_cudnn

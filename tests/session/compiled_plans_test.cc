// Plans and forms of weights in compiled models, on the CPU device that behaves like a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/session/compile_model.h"
#include "runtime/session/compiled_model.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/edited_parts.h"
#include "tests/support/session_maker.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kN = 64;
constexpr std::string_view kShift = R"(
    g (float[N] x) => (float[N] y, float[N] z) <float one = {1}> {
      s = Add(x, one)
      y = Identity(s)
      z = Relu(x)
    })";
constexpr std::string_view kOther =
    "g (float[N] x) => (float[N] y) { a = Relu(x) b = Tanh(a) y = Sigmoid(b) }";

SessionOptions TuningIn(const TempFolder& folder) {
  return {.partitioner = PartitionerChoice::kCost,
          .tune_budget_s = 60,
          .plan_cache = folder.path("plans.json")};
}

// Tunes a model, so that its plans are in the cache.
void Tune(std::string_view text, const SessionOptions& options) {
  const absl::StatusOr<Session> session = SessionMaker::Make(text, options);
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<float> x(kN, 2);
  EXPECT_TRUE(session->Run({View(x.data(), {kN})}).ok());
}

CompileRequest ForShift(const TempFolder& folder) {
  CompileRequest request{.target = "h200",
                         .options = {.partitioner = PartitionerChoice::kCost,
                                     .plan_cache = folder.path("plans.json")}};
  request.inputs.dims["x"] = {kN};
  return request;
}

CompileReport CompileShift(const TempFolder& folder, const CompileRequest& request) {
  const auto report = CompileModel(GraphFromText(kShift), request, folder.path("m.ocp"));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(CompileReport());
}

// The lines of the partitions of kShift in the cache.
int64_t PartitionsIn(const PlanFile& cache) {
  for (const auto& [key, entry] : cache.entries) {
    if (entry.engine != "network" || !absl::StrContains(entry.signature, " of 2 nodes")) continue;
    return std::count(entry.saved.begin(), entry.saved.end(), '\n') - 1;  // "complete"
  }
  return 0;
}

TEST(CompiledPlansTest, AreThoseOfTheNetworkAndAStartNeedsNoOther) {
  const TempFolder folder;
  const SessionOptions tuning = TuningIn(folder);
  Tune(kShift, tuning);
  Tune(kOther, tuning);
  const PlanFile cache = ReadPlanFile(tuning.plan_cache).value();
  const int64_t partitions = PartitionsIn(cache);
  ASSERT_GT(partitions, 0);
  const CompileReport report = CompileShift(folder, ForShift(folder));
  EXPECT_TRUE(report.has_partitions);
  EXPECT_GT(report.plans, 1);
  EXPECT_LT(report.plans, static_cast<int>(cache.entries.size()));  // without those of kOther
  const absl::StatusOr<Session> session = SessionMaker::Load(folder.path("m.ocp"), {});
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<float> x(kN);
  std::iota(x.begin(), x.end(), -3.0F);
  const auto outputs = session->Run({View(x.data(), {kN})}).value();
  EXPECT_EQ(outputs[0].data<float>()[0], -2);
  EXPECT_EQ(outputs[1].data<float>()[0], 0);
  // Exactly the partitions were looked up: no search asked for others.
  EXPECT_EQ(session->stats().cached_signatures, partitions);
  EXPECT_EQ(absl::StrJoin(session->stats().tune_notes, "\n"), "");
}

// Without the network's entry, the plans of the partitions that predictions choose.
TEST(CompiledPlansTest, AreThoseOfPartitionsWhereTheNetworkIsNotKnown) {
  const TempFolder folder;
  const SessionOptions tuning = TuningIn(folder);
  Tune(kShift, tuning);
  Tune(kOther, tuning);
  CompileRequest request = ForShift(folder);
  request.options.partitioner = PartitionerChoice::kGreedy;
  request.options.streams = 1;  // tuned with two
  const CompileReport report = CompileShift(folder, request);
  EXPECT_FALSE(report.has_partitions);
  EXPECT_GT(report.plans, 0);
}

TEST(CompiledPlansTest, OfAnEngineOfAnotherVersionAreFoundInTheCache) {
  const TempFolder folder;
  const SessionOptions tuning = TuningIn(folder);
  Tune(kShift, tuning);
  const PlanFile cache = ReadPlanFile(tuning.plan_cache).value();
  // As a GPU has them: kernel's version is "cuda" there, and in its signatures.
  PlanFile of_gpu;
  for (const auto& [key, entry] : cache.entries) {
    PlanEntry other = entry;
    if (other.engine == "kernel") {
      other.engine_version = "cuda";
      other.signature.replace(0, std::string("kernel rules").size(), "kernel cuda");
    }
    of_gpu.entries[{other.device, other.signature}] = other;
  }
  ASSERT_TRUE(WriteFile(tuning.plan_cache, PlanFileText(of_gpu)).ok());
  const CompileReport report = CompileShift(folder, ForShift(folder));
  EXPECT_FALSE(report.has_partitions);  // the network's signature has the rules' versions
  EXPECT_GT(report.plans, 0);
}

TEST(CompiledPlansTest, ThereAreNoneWithoutAPlanCacheOrOnTheCpu) {
  const TempFolder folder;
  Tune(kShift, TuningIn(folder));
  CompileRequest request = ForShift(folder);
  request.target = "cpu";
  EXPECT_EQ(CompileShift(folder, request).plans, 0);
  request.target = "h200";
  request.options.plan_cache.clear();
  EXPECT_EQ(CompileShift(folder, request).plans, 0);
  request.options.plan_cache = folder.path("none.json");
  EXPECT_TRUE(absl::IsNotFound(
      CompileModel(GraphFromText(kShift), request, folder.path("m.ocp")).status()));
  EXPECT_TRUE(Exists(folder.path("m.ocp")).value());  // the one before
}

// The ops of each partition of the compiled model's Program for kN elements.
std::vector<std::string> PartitionsOf(const std::string& path, const SessionOptions& options = {}) {
  const absl::StatusOr<Session> session = SessionMaker::Load(path, options);
  if (!session.ok()) return {std::string(session.status().message())};
  const std::vector<float> x(kN, 2);
  std::vector<std::string> ops;
  const std::vector<CheckedPartition> checked =
      session->CheckPartitions({View(x.data(), {kN})}).value();
  for (const CheckedPartition& p : checked) {
    EXPECT_TRUE(p.ok) << p.ops;
    ops.push_back(p.ops);
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

constexpr std::string_view kChain = "g (float[N] x) => (float[N] y) { a = Relu(x) y = Tanh(a) }";
using Strings = std::vector<std::string>;

// The search would fuse both ops: a Session that does not takes what is in the file.
TEST(CompiledPlansTest, PartitionsAreThereWithoutAPlanCache) {
  const TempFolder folder;
  const std::string path = folder.path("m.ocp"), edited = folder.path("e.ocp");
  for (const auto partitioner : {PartitionerChoice::kGreedy, PartitionerChoice::kCost}) {
    CompileRequest request{.target = "h200", .options = {.partitioner = partitioner}};
    request.inputs.dims["x"] = {kN};
    std::string apart;
    for (const std::string& pins : {std::string("forbid * a y"), std::string()}) {
      request.options.pins = pins;
      const auto report = CompileModel(GraphFromText(kChain), request, path);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_TRUE(report->has_cover);
      EXPECT_EQ(report->plans, 0);
      EditParts(path, edited, [&](std::string_view name, std::string& bytes) {
        if (name != kPartitionsPart) return true;
        const size_t begin = bytes.find('\n') + 1;
        if (!pins.empty()) apart = bytes.substr(begin);
        bytes.replace(begin, bytes.npos, apart);
        return true;
      });
    }
    EXPECT_EQ(PartitionsOf(path), Strings({"Relu Tanh: a"}));
    EXPECT_EQ(PartitionsOf(edited), Strings({"Relu: a", "Tanh: y"}));
    // Neither is for a Session with other pins or streams.
    EXPECT_EQ(PartitionsOf(path, {.pins = "forbid * a y"}), Strings({"Relu: a", "Tanh: y"}));
    EXPECT_EQ(PartitionsOf(edited, {.streams = 1}), Strings({"Relu Tanh: a"}));
  }
}

TEST(CompiledPlansTest, InputsThatTheModelRefusesCostTheFileItsPartitions) {
  const TempFolder folder;
  CompileRequest request{.target = "l4"};
  request.inputs.dims = {{"x", {3}}, {"z", {4}}};
  const Graph graph = GraphFromText("g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }");
  const auto report = CompileModel(graph, request, folder.path("m.ocp"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->has_cover);
}

TEST(CompiledPlansTest, DamagedPlansAreAnError) {
  const TempFolder folder;
  Tune(kShift, TuningIn(folder));
  CompileShift(folder, ForShift(folder));
  EditParts(folder.path("m.ocp"), folder.path("e.ocp"),
            [](std::string_view name, std::string& bytes) {
              if (name == kPlansPart) bytes = "{";
              return true;
            });
  const absl::Status status = SessionMaker::Load(folder.path("e.ocp"), {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "not JSON")) << status;
}

}  // namespace
}  // namespace onnx_cudnn

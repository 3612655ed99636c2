// SessionOptions::pins.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/tune_worker.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kChain =
    "g (float[4,8] x) => (float[4,8] y) { a = Relu(x) y = Tanh(a) }";

// "kernel{Relu Tanh}", or the error.
std::string PartitionsOf(std::string_view pins, SessionOptions options) {
  options.pins = pins;
  Graph graph = LoadModelBytes(ModelBytesFromText(kChain).value(), {}).value();
  const auto model =
      LoadedModel::Create(std::move(graph), options, /*load_ms=*/0, SessionMaker::Open().value());
  if (!model.ok()) return std::string(model.status().message());
  const TensorView x = {.dtype = DType::kF32, .shape = {4, 8}};
  const auto pool = (*model)->Prepare({&x}, /*callers_stream=*/nullptr);
  if (!pool.ok()) return std::string(pool.status().message());
  std::vector<std::string> partitions;
  for (const Partition& partition : (*pool)->program().partitions) {
    std::vector<std::string> ops;
    for (const Node* node : partition.chosen.nodes) ops.push_back(node->op());
    partitions.push_back(
        absl::StrCat(partition.chosen.engine->name(), "{", absl::StrJoin(ops, " "), "}"));
  }
  return absl::StrJoin(partitions, " ");
}

TEST(SessionPinsTest, HoldForGreedyCostAndTunedPrograms) {
  for (const PartitionerChoice partitioner :
       {PartitionerChoice::kGreedy, PartitionerChoice::kCost}) {
    for (const double budget_s : {0.0, 60.0}) {
      const SessionOptions options{.partitioner = partitioner, .tune_budget_s = budget_s};
      const std::string name = absl::StrCat(static_cast<int>(partitioner), " ", budget_s);
      const std::string pinned = PartitionsOf("forbid * a y", options);
      // In a tuned Program, measured times decide which engine runs each one.
      EXPECT_TRUE(absl::StrContains(pinned, "{Relu} ") && absl::StrContains(pinned, "{Tanh}"))
          << name << ": " << pinned;
      if (budget_s > 0) continue;
      EXPECT_EQ(PartitionsOf("", options), "kernel{Relu Tanh}") << name;
    }
  }
}

TEST(SessionPinsTest, ALineThatIsNoRuleIsInvalidAtLoad) {
  const auto session = SessionMaker::Make(kChain, {.pins = "pin * a\nkeep * y"});
  EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session.status().message(), "pins:2: expected pin or forbid, found \"keep\"");
}

TEST(SessionPinsTest, AnUnknownNodeIsInvalidWhenAProgramIsBuilt) {
  EXPECT_EQ(PartitionsOf("# one\npin * b", {}),
            "pins:2: the graph has no node \"b\" after its rewrites");
}

// The engines of the plans that a worker measures for a Session with these pins.
std::set<std::string> EnginesAWorkerMeasures(std::string_view pins) {
  const TempFolder folder;
  const std::string job = folder.path("job.json"), plans = folder.path("plans.json");
  const SessionOptions options{
      .partitioner = PartitionerChoice::kCost,
      .pins = std::string(pins),
      .tune_budget_s = 60,
      .tune_worker =
          Worker(folder, absl::StrCat("cp \"$1\" ", job, "\ncp \"$2\" ", plans, "\nexit 5\n"))};
  const Session session = SessionMaker::Make(kChain, options).value();  // keeps the model's file
  const std::vector<float> x(32);
  EXPECT_TRUE(session.Run({View(x.data(), {4, 8})}).ok());
  WorkerLines lines(
      Descriptor(open(folder.path("lines").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
  const absl::Status worked = WorkOnJob(
      job, plans, /*budget_s=*/60, /*one_at_a_time=*/true,
      [](const SessionOptions&) { return SessionMaker::Open(); }, lines);
  EXPECT_TRUE(worked.ok()) << worked;
  std::set<std::string> engines;
  const absl::StatusOr<PlanFile> file = ReadPlanFile(plans);
  EXPECT_TRUE(file.ok()) << file.status();
  for (const auto& [key, entry] : file->entries) engines.insert(entry.engine);
  return engines;
}

TEST(SessionPinsTest, AWorkerProgramKeepsToThem) {
  EXPECT_EQ(EnginesAWorkerMeasures("").count("kernel"), 1u);
  EXPECT_EQ(EnginesAWorkerMeasures("forbid kernel a\nforbid kernel y").count("kernel"), 0u);
}

}  // namespace
}  // namespace onnx_cudnn

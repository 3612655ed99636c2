// Sessions over the CPU device that behaves like a GPU for its callers.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/file.h"
#include "runtime/base/sha1.h"
#include "runtime/session/tune_worker.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_maker.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {

namespace {

int some_stream;  // any address stands for a caller's stream
constexpr int64_t kN = 64;

constexpr std::string_view kShift = R"(
    g (float[N] x) => (float[N] y, float[N] z) <float one = {1}> {
      y = Add(x, one)
      z = Relu(x)
    })";

Session MakeSession(std::string_view text = kShift, const SessionOptions& options = {}) {
  absl::StatusOr<Session> session = SessionMaker::Make(text, options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

std::vector<float> Ramp(float first) {
  std::vector<float> values(kN);
  std::iota(values.begin(), values.end(), first);
  return values;
}

float LastOf(const Session& session, const Tensor& tensor) {
  return session.ToHost(tensor).value().data<float>()[kN - 1];
}

// Options that tune to the end and keep what is measured.
SessionOptions TuningIn(const TempFolder& folder) {
  return {.partitioner = PartitionerChoice::kCost,
          .tune_budget_s = 60,
          .plan_cache = folder.path("plans.json")};
}

TEST(GpuLikeSessionTest, SaysWhatItChose) {
  const Session session = MakeSession();
  EXPECT_EQ(session.device_ref(), (DeviceRef{DeviceKind::kCuda, 0}));
  EXPECT_EQ(session.precision(), PrecisionChoice::kTf32);
  EXPECT_EQ(MakeSession(kShift, {.precision = PrecisionChoice::kStrict}).precision(),
            PrecisionChoice::kStrict);
}

TEST(GpuLikeSessionTest, MeasuresOnceAndReusesTheResult) {
  const TempFolder folder;
  SessionOptions options = TuningIn(folder);
  const std::vector<float> x = Ramp(-3);
  const auto run = [&] {
    const Session session = MakeSession(kShift, options);
    const auto outputs = session.Run({View(x.data(), {kN})}).value();
    EXPECT_EQ(outputs[0].data<float>()[0], -2);
    EXPECT_EQ(outputs[1].data<float>()[0], 0);
    return session.stats();
  };
  const SessionStats first = run();
  EXPECT_GT(first.tuned_signatures, 0);
  EXPECT_EQ(first.cached_signatures, 0);
  EXPECT_GT(first.tune_ms, 0);
  EXPECT_EQ(first.tune_notes, std::vector<std::string>());
  const PlanFile file = ReadPlanFile(options.plan_cache).value();
  EXPECT_EQ(std::count_if(file.entries.begin(), file.entries.end(),
                          [](const auto& entry) { return entry.second.engine == "network"; }),
            1);
  options.tune_budget_s = 0;
  const SessionStats second = run();
  EXPECT_EQ(second.tuned_signatures, 0);
  EXPECT_GT(second.cached_signatures, 0);
  EXPECT_EQ(second.tune_ms, 0);
}

// The entry of a whole network in a plan cache, another than that of signature `other`.
PlanEntry NetworkIn(const std::string& path, std::string_view other = "") {
  const PlanFile file = ReadPlanFile(path).value();
  for (const auto& [key, entry] : file.entries) {
    if (entry.engine == "network" && entry.signature != other) return entry;
  }
  ADD_FAILURE() << path << " has no network";
  return {};
}

// Stats of a Session over kShift after a Run with correct outputs.
SessionStats StatsAfterRun(const SessionOptions& options) {
  const std::vector<float> x = Ramp(-3);
  const Session session = MakeSession(kShift, options);
  const auto outputs = session.Run({View(x.data(), {kN})}).value();
  EXPECT_EQ(outputs[0].data<float>()[0], -2);
  EXPECT_EQ(outputs[1].data<float>()[0], 0);
  return session.stats();
}

TEST(GpuLikeSessionTest, SavesTheCoverThatTuningEndedWith) {
  const TempFolder folder;
  SessionOptions options = TuningIn(folder);
  StatsAfterRun(options);
  const PlanEntry tuned = NetworkIn(options.plan_cache);
  EXPECT_EQ(tuned.saved.rfind("complete\n", 0), 0u) << tuned.saved;
  const auto lines = std::count(tuned.saved.begin(), tuned.saved.end(), '\n') - 1;
  EXPECT_GT(lines, 0);
  options.tune_budget_s = 0;
  EXPECT_EQ(StatsAfterRun(options).cached_signatures, lines);
  options.tune_budget_s = 60;  // nothing is left to do
  EXPECT_EQ(StatsAfterRun(options).tuned_signatures, 0);
  EXPECT_EQ(NetworkIn(options.plan_cache).us, tuned.us);
}

// The partitions of a Session's Program over a chain: engine, variant, ops.
std::vector<std::string> PartitionsOf(const SessionOptions& options) {
  const Session session =
      MakeSession("g (float[N] x) => (float[N] y) { a = Relu(x) y = Tanh(a) }", options);
  const std::vector<float> x = Ramp(-3);
  const std::vector<CheckedPartition> checked =
      session.CheckPartitions({{"x", View(x.data(), {kN})}}).value();
  std::vector<std::string> partitions;
  for (const CheckedPartition& p : checked) {
    partitions.push_back(absl::StrCat(p.index, " ", p.engine, " ", p.variant, " ", p.ops));
  }
  std::sort(partitions.begin(), partitions.end());
  return partitions;
}

TEST(GpuLikeSessionTest, ACachedStartTakesTheProgramThatTuningEndedWith) {
  const TempFolder folder;
  SessionOptions options = TuningIn(folder);
  options.pins = "forbid * a y";
  PartitionsOf(options);  // measures each op alone
  const std::string pinned = NetworkIn(options.plan_cache).signature;
  options.pins.clear();
  const std::vector<std::string> tuned = PartitionsOf(options);
  options.tune_budget_s = 0;
  // What was chosen is the most expensive now, and a search chooses something else.
  const PlanFile file = ReadPlanFile(options.plan_cache).value();
  const std::string cover = NetworkIn(options.plan_cache, pinned).saved;
  const auto write = [&](bool with_cover) {
    std::filesystem::remove(options.plan_cache);
    const auto cache = PlanCache::Open(options.plan_cache).value();
    for (auto [key, entry] : file.entries) {
      if (entry.engine == "network" && !with_cover) continue;
      Sha1 hash;
      hash.Update(entry.signature);
      if (absl::StrContains(cover, hash.HexDigest())) entry.us = 1e9;
      cache->Put(std::move(entry));
    }
    EXPECT_TRUE(cache->Save().ok());
  };
  write(/*with_cover=*/true);
  EXPECT_EQ(PartitionsOf(options), tuned);
  write(/*with_cover=*/false);
  EXPECT_NE(PartitionsOf(options), tuned);
}

TEST(GpuLikeSessionTest, ABudgetThatEndedEarlyIsContinued) {
  const TempFolder folder;
  SessionOptions options = TuningIn(folder);
  options.tune_budget_s = 1e-9;
  StatsAfterRun(options);
  const PlanEntry early = NetworkIn(options.plan_cache);
  EXPECT_NE(early.saved.rfind("complete\n", 0), 0u) << early.saved;
  options.tune_budget_s = 60;
  StatsAfterRun(options);
  const PlanEntry late = NetworkIn(options.plan_cache);
  EXPECT_EQ(late.saved.rfind("complete\n", 0), 0u) << late.saved;
}

TEST(GpuLikeSessionTest, ACoverThatDoesNotFitIsSearchedAgain) {
  const TempFolder folder;
  SessionOptions options = TuningIn(folder);
  StatsAfterRun(options);
  const std::string text = ReadFile(options.plan_cache, 1 << 20).value();
  ASSERT_TRUE(absl::StrContains(text, "complete\\n"));
  ASSERT_TRUE(WriteFile(options.plan_cache,
                        absl::StrReplaceAll(text, {{"complete\\n", "complete\\nnone 0 0\\n"}}))
                  .ok());
  options.tune_budget_s = 0;
  EXPECT_GT(StatsAfterRun(options).cached_signatures, 0);
}

TEST(GpuLikeSessionTest, WithoutAWorkerProgramItMeasuresAndReportsSo) {
  const SessionStats stats = StatsAfterRun({.tune_budget_s = 60, .tune_worker = "/none/worker"});
  EXPECT_GT(stats.tuned_signatures, 0);
  EXPECT_EQ(stats.tune_notes,
            std::vector<std::string>{"no worker program /none/worker: No such file or directory: "
                                     "measured in this process"});
}

TEST(GpuLikeSessionTest, AWorkerThatCannotWorkLeavesItToThisProcess) {
  const TempFolder folder;
  const std::string worker = Worker(folder, "echo '{\"error\": \"no GPU\"}'\nexit 5\n");
  const SessionStats stats = StatsAfterRun({.tune_budget_s = 60, .tune_worker = worker});
  EXPECT_GT(stats.tuned_signatures, 0);
  EXPECT_EQ(stats.tune_notes, (std::vector<std::string>{"the worker program tried nothing: no GPU",
                                                        "measured in this process"}));
}

TEST(GpuLikeSessionTest, AWorkerThatCrashesDoesNotTakeItDown) {
  const TempFolder folder;
  const std::string worker =
      Worker(folder,
             "echo '{\"trying\": 1, \"device\": \"h200\", \"signature\": \"s\", \"engine\": \"e\", "
             "\"variant\": \"v\", \"version\": \"1\"}'\nkill -SEGV $$\n");
  const std::string plans = folder.path("plans.json");
  const SessionStats stats =
      StatsAfterRun({.tune_budget_s = 60, .plan_cache = plans, .tune_worker = worker});
  EXPECT_EQ(stats.tuned_signatures, 0);
  ASSERT_FALSE(stats.tune_notes.empty());
  EXPECT_TRUE(absl::StrContains(stats.tune_notes[0], "e v: crashed: signal 11"))
      << stats.tune_notes[0];
  const auto file = ReadPlanFile(plans);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->failed.count({"h200", "s", "v"}), 1u);
}

// Both halves of a job on one device: the Session needs only what the worker measured.
TEST(GpuLikeSessionTest, AWorkersPlansAreTakenAndNothingIsMeasuredAgain) {
  const TempFolder folder;
  const std::string kept = folder.path("job.json"), plans = folder.path("plans.json");
  const SessionOptions options{.tune_budget_s = 60};
  {
    SessionOptions first = options;
    first.tune_worker =
        Worker(folder, absl::StrCat("cp \"$1\" ", kept, "\ncp \"$2\" ", plans, "\nexit 5\n"));
    const Session session = MakeSession(kShift, first);  // keeps the model's file
    const std::vector<float> x = Ramp(-3);
    ASSERT_TRUE(session.Run({View(x.data(), {kN})}).ok());
    WorkerLines lines(
        Descriptor(open(folder.path("lines").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
    const absl::Status worked = WorkOnJob(
        kept, plans, 60, /*one_at_a_time=*/true,
        [](const SessionOptions&) { return SessionMaker::Open(); }, lines);
    ASSERT_TRUE(worked.ok()) << worked;
    const absl::Status refused = WorkOnJob(
        kept, plans, /*budget_s=*/-1, /*one_at_a_time=*/true,
        [](const SessionOptions&) -> absl::StatusOr<OpenedDevice> {
          return absl::InternalError("a device was opened");
        },
        lines);
    EXPECT_EQ(refused.message(), "option tune_budget_s: expected 0 or more, found -1");
  }
  const std::string said = *ReadFile(folder.path("lines"), 1 << 24);
  for (const char* text : {"{\"trying\":", "{\"tried\":", "{\"progress\":", "{\"done\": true}\n"}) {
    EXPECT_TRUE(absl::StrContains(said, text)) << text;
  }
  int64_t done = 0, total = 0;
  SessionOptions second = options;
  second.tune_worker = Worker(folder, absl::StrCat("echo worked >>", folder.path("began"), "\ncp ",
                                                   plans, " \"$2\"\ncat ", folder.path("lines")));
  second.plan_cache = folder.path("own.json");
  second.tune_progress = [&](int64_t d, int64_t t) { done = d, total = t; };
  const SessionStats stats = StatsAfterRun(second);
  EXPECT_GT(stats.tuned_signatures, 0);
  EXPECT_EQ(stats.tuned_signatures, done);
  EXPECT_EQ(done, total);
  EXPECT_EQ(stats.tune_notes, std::vector<std::string>());
  EXPECT_EQ(ReadPlanFile(second.plan_cache)->entries.size(), ReadPlanFile(plans)->entries.size());
  // If the plan cache is complete, no worker is started.
  const SessionStats third = StatsAfterRun(second);
  EXPECT_EQ(third.tuned_signatures, 0);
  EXPECT_GT(third.cached_signatures, 0);
  EXPECT_EQ(*ReadFile(folder.path("began"), 1 << 10), "worked\n");
}

TEST(GpuLikeSessionTest, AJobThatIsNoneIsInvalid) {
  const TempFolder folder;
  WorkerLines lines{Descriptor()};
  const absl::Status worked = WorkOnJob(
      folder.Write("job.json", "{\"model\": 3}"), folder.path("plans.json"), 1,
      /*one_at_a_time=*/false, [](const SessionOptions&) { return SessionMaker::Open(); }, lines);
  EXPECT_EQ(worked.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(worked.message(), "job.json: no job of tuning")) << worked;
}

TEST(GpuLikeSessionTest, RefusesAPlanCacheThatIsNone) {
  const TempFolder folder;
  const auto session = SessionMaker::Make(kShift, {.plan_cache = folder.Write("plans.json", "{}")});
  EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(session.status().message(), "plans.json")) << session.status();
  const auto less = SessionMaker::Make(kShift, {.tune_budget_s = -1});
  EXPECT_EQ(less.status().message(), "option tune_budget_s: expected 0 or more, found -1");
}

TEST(GpuLikeSessionTest, TakesHostMemory) {
  const Session session = MakeSession();
  for (int run = 0; run < 4; ++run) {
    const std::vector<float> x = Ramp(static_cast<float>(run));
    const auto outputs = session.Run({View(x.data(), {kN})}).value();
    EXPECT_EQ(outputs[0].data<float>()[kN - 1], x[kN - 1] + 1);
    EXPECT_EQ(outputs[0].device(), DeviceRef{});
  }
}

TEST(GpuLikeSessionTest, TakesDeviceMemoryWithAndWithoutAGraph) {
  for (const bool cuda_graph : {true, false}) {
    const Session session = MakeSession(kShift, {.cuda_graph = cuda_graph});
    const Tensor x = session.ToDevice(View(Ramp(3).data(), {kN})).value();
    const Tensor y = session.ToDevice(View(Ramp(0).data(), {kN})).value();
    const Tensor z = session.ToDevice(View(Ramp(0).data(), {kN})).value();
    for (int run = 0; run < 4; ++run) {
      ASSERT_TRUE(session.Run({x.view()}, {y.view(), z.view()}, RunOptions{}).ok());
      EXPECT_EQ(LastOf(session, y), 3 + kN);
      EXPECT_EQ(session.stats().graph_captures, cuda_graph && run > 0 ? 1 : 0);
    }
    Binding binding = session.Bind({x.view()}, {y.view(), z.view()}).value();
    for (int run = 0; run < 4; ++run) {
      ASSERT_TRUE(binding.Run({.stream = run % 2 == 0 ? &some_stream : nullptr}).ok());
    }
    EXPECT_EQ(binding.graph_note(), "");
    EXPECT_EQ(LastOf(session, z), 2 + kN);
    EXPECT_EQ(binding.TimeRuns(3).value().size(), 3u);
    EXPECT_EQ(session.stats().graph_captures, cuda_graph ? 2 : 0);
  }
}

TEST(GpuLikeSessionTest, BindingsRefuseMemoryOfAnotherDevice) {
  const Session session = MakeSession();
  const std::vector<float> x = Ramp(0);
  TensorView view = View(x.data(), {kN});
  view.device = {DeviceKind::kCuda, 1};
  std::vector<float> y(kN);
  EXPECT_EQ(session.Bind({view}, {View(y.data(), {kN})}).error().message,
            "input \"x\": expected memory of the host or of CUDA device 0, found memory of CUDA "
            "device 1");
  const Session words = MakeSession("g (string[1] x) => (string[1] y) { y = Identity(x) }");
  const std::string word = "a";
  TensorView strings = View(&word, {1});
  strings.device = words.device_ref();
  EXPECT_EQ(words.Run({strings}).error().message,
            "input \"x\": expected memory of the host, found memory of CUDA device 0");
}

TEST(GpuLikeSessionTest, ReadsInputsThatDecideShapesFromTheDevice) {
  const Session session =
      MakeSession("g (float[64] x, int64[2] shape) => (float[A,B] y) { y = Reshape(x, shape) }");
  const std::vector<float> x = Ramp(0);
  const std::array<int64_t, 2> dims = {4, 16}, others = {2, 32};
  const Tensor shape = session.ToDevice(View(dims.data(), {2})).value();
  const Tensor other = session.ToDevice(View(others.data(), {2})).value();
  EXPECT_EQ(session.Run({View(x.data(), {kN}), shape.view()}).value()[0].shape(),
            (std::vector<int64_t>{4, 16}));
  EXPECT_EQ(session.Run({View(x.data(), {kN}), other.view()}).value()[0].shape(),
            (std::vector<int64_t>{2, 32}));
  std::vector<float> y(kN);
  Binding binding =
      session.Bind({View(x.data(), {kN}), shape.view()}, {View(y.data(), {4, 16})}).value();
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(y, x);
}

TEST(GpuLikeSessionTest, ServesThreads) {
  const Session session = MakeSession(kShift, {.max_executors_per_program = 2});
  std::vector<std::thread> threads;
  std::array<int, 4> wrong = {};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 20; ++run) {
        const std::vector<float> x = Ramp(static_cast<float>(t));
        Result<std::vector<Tensor>> outputs = session.Run({View(x.data(), {kN})});
        if (outputs.value()[0].data<float>()[0] != x[0] + 1) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

// One Executor: 256 bytes each of x, y and z on the device and pinned; `one` takes 4.
TEST(GpuLikeSessionTest, MaxMemoryCountsCopiesOfInputsAndOutputs) {
  const std::vector<float> x = Ramp(0);
  const auto run = [&](int64_t bytes) {
    return MakeSession(kShift, {.max_memory_bytes = bytes}).Run({View(x.data(), {kN})});
  };
  EXPECT_TRUE(run(6 * 256 + 4).ok());
  ExpectError(run(6 * 256 + 3), ErrorCode::kResourceExhausted,
              "take 1540 bytes, the limit is 1539");
}

}  // namespace
}  // namespace onnx_cudnn

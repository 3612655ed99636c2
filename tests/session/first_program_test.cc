// Sessions whose first Runs use a Program that is built quickly, on the CPU device that behaves
// like a GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/plan/known_devices.h"
#include "tests/support/expect_error.h"
#include "tests/support/forwarding_device.h"
#include "tests/support/late_engine.h"
#include "tests/support/proposed.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kN = 16;
constexpr float kOff = 1e-4f;  // marks results of the engine that generates code
constexpr absl::Duration kCompiles = absl::Milliseconds(30);

// Generates code when it compiles, from when it may.
class SlowToCompile final : public LateEngine {
 public:
  SlowToCompile(double ms, const absl::Notification& may)
      : LateEngine("cudnn", {{.ms = ms, .off = kOff}}), may_(may) {}
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override {
    may_.WaitForNotification();
    absl::SleepFor(kCompiles);
    return LateEngine::Compile(candidate, variant, target);
  }

 private:
  const absl::Notification& may_;
};

class FirstProgramTest : public testing::Test {
 protected:
  // cudnn_ms, kernel_ms  what a launch takes; kernel_ms < 0: there is no other engine
  Session Make(double cudnn_ms, double kernel_ms, SessionOptions options = {}) {
    std::unique_ptr<Engine> kernel;
    if (kernel_ms >= 0) {
      kernel = std::make_unique<LateEngine>("kernel", std::vector<LateVariant>{{.ms = kernel_ms}});
    }
    return Make(cudnn_ms, std::move(kernel), std::move(options));
  }
  Session Make(double cudnn_ms, std::unique_ptr<Engine> kernel, SessionOptions options = {},
               std::unique_ptr<Device> device = MakeCpuDevice({.like_a_gpu = true})) {
    OpenedDevice opened{.device = std::move(device)};
    EngineList engines;
    engines.push_back(std::make_unique<SlowToCompile>(cudnn_ms, may_compile_));
    if (kernel != nullptr) engines.push_back(std::move(kernel));
    opened.target = TargetOver(GpuEngines(std::move(engines)), H200());
    options.first_program = FirstProgram::kQuick;
    absl::StatusOr<Session> session = SessionMaker::Make(
        "g (float[N] x) => (float[N] y) { y = Relu(x) }", options, std::move(opened));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  void LetCompile() { may_compile_.Notify(); }

  // Whether y[0] for x = 1 is that of the engine that generates code.
  static bool RanGenerated(const Session& session) {
    const std::vector<float> x(kN, 1);
    Result<std::vector<Tensor>> outputs = session.Run({View(x.data(), {kN})});
    EXPECT_TRUE(outputs.ok());
    const float y = outputs.value()[0].data<float>()[0];
    EXPECT_TRUE(y == 1 || y == 1 + kOff) << y;
    return y != 1;
  }
  static std::string Notes(const Session& session) {
    return absl::StrJoin(session.stats().tune_notes, "\n");
  }
  static bool HasNote(const Session& session, std::string_view text) {
    for (const absl::Time end = absl::Now() + absl::Seconds(60); absl::Now() < end;) {
      if (absl::StrContains(Notes(session), text)) return true;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

 private:
  absl::Notification may_compile_;
};

TEST_F(FirstProgramTest, RunsAtOnceAndTakesTheBestProgramWhenItIsBuilt) {
  const Session session = Make(/*cudnn_ms=*/0, /*kernel_ms=*/3);
  EXPECT_FALSE(RanGenerated(session));  // though nothing may be compiled yet
  EXPECT_FALSE(RanGenerated(session));
  EXPECT_EQ(session.stats().programs_swapped, 0);
  LetCompile();
  ASSERT_TRUE(HasNote(session, "background build of x[16]: a run of the best program takes "));
  EXPECT_TRUE(absl::EndsWith(Notes(session),
                             " us: it serves from now on, results may differ in the last bits"))
      << Notes(session);
  EXPECT_TRUE(RanGenerated(session));
  const SessionStats stats = session.stats();
  EXPECT_EQ(stats.programs_swapped, 1);
  EXPECT_EQ(stats.programs_held, 1);
  ASSERT_EQ(stats.builds.size(), 2u);
  EXPECT_TRUE(stats.builds[0].is_quick);
  EXPECT_FALSE(stats.builds[1].is_quick);
  EXPECT_EQ(stats.builds[1].inputs, "x[16]");
  EXPECT_GE(stats.builds[1].compile_ms, absl::ToDoubleMilliseconds(kCompiles));
  EXPECT_LT(stats.builds[1].partition_ms, stats.builds[1].compile_ms);
  EXPECT_LT(stats.plan_ms, stats.builds[1].compile_ms);  // for which no Run waited
}

// What a test learns of the Steps of a WatchedEngine.
struct Watch {
  std::atomic<std::thread::id> run_thread = std::thread::id();
  std::atomic<bool> holds = false;  // the next launch on that thread
  absl::Notification held, may_end, destroyed;
  std::atomic<bool> destroyed_by_run = false;
  std::atomic<int> launches = 0;
};

class WatchedRelu final : public Step {
 public:
  WatchedRelu(Watch& watch, int64_t elements) : watch_(watch), elements_(elements) {}
  ~WatchedRelu() override {
    if (std::this_thread::get_id() == watch_.run_thread.load()) watch_.destroyed_by_run = true;
    if (!watch_.destroyed.HasBeenNotified()) watch_.destroyed.Notify();
  }
  absl::Status Launch(const LaunchArgs& args) const override {
    ++watch_.launches;
    absl::SleepFor(absl::Milliseconds(3));
    if (std::this_thread::get_id() == watch_.run_thread.load() && watch_.holds.exchange(false)) {
      watch_.held.Notify();
      watch_.may_end.WaitForNotification();
    }
    std::memcpy(args.out[0], args.in[0], elements_ * sizeof(float));
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  Watch& watch_;
  const int64_t elements_;
};

class WatchedEngine final : public LateEngine {
 public:
  explicit WatchedEngine(Watch& watch) : LateEngine("kernel", {{}}), watch_(watch) {}
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    return Compiled::As(
        std::make_shared<WatchedRelu>(watch_, candidate.nodes[0]->output(0).elements()));
  }

 private:
  Watch& watch_;
};

TEST_F(FirstProgramTest, ARunDoesNotDestroyTheProgramThatWasReplacedDuringIt) {
  Watch watch;
  const Session session = Make(/*cudnn_ms=*/0, std::make_unique<WatchedEngine>(watch));
  EXPECT_FALSE(RanGenerated(session));
  watch.holds = true;
  std::thread runs([&] {
    watch.run_thread = std::this_thread::get_id();
    EXPECT_FALSE(RanGenerated(session));
  });
  watch.held.WaitForNotification();
  LetCompile();
  EXPECT_TRUE(HasNote(session, "it serves from now on")) << Notes(session);
  watch.may_end.Notify();
  runs.join();
  EXPECT_TRUE(watch.destroyed.WaitForNotificationWithTimeout(absl::Seconds(60)));
  EXPECT_FALSE(watch.destroyed_by_run);
}

class CountingDevice final : public ForwardingDevice {
 public:
  explicit CountingDevice(std::atomic<int>& allocations)
      : ForwardingDevice(MakeCpuDevice({.like_a_gpu = true})), allocations_(allocations) {}
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    ++allocations_;
    return ForwardingDevice::Allocate(bytes, space);
  }

 private:
  std::atomic<int>& allocations_;
};

TEST_F(FirstProgramTest, RunsAfterTheSwapAllocateNothingOnTheDevice) {
  std::atomic<int> allocations = 0;
  const Session session = Make(
      /*cudnn_ms=*/0, std::make_unique<LateEngine>("kernel", std::vector<LateVariant>{{.ms = 3}}),
      {}, std::make_unique<CountingDevice>(allocations));
  EXPECT_FALSE(RanGenerated(session));
  const int before = allocations;
  EXPECT_FALSE(RanGenerated(session));
  EXPECT_EQ(allocations, before);  // of a Run like the one before
  LetCompile();
  ASSERT_TRUE(HasNote(session, "it serves from now on")) << Notes(session);
  const int after = allocations;
  EXPECT_GT(after, before);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(RanGenerated(session));
  EXPECT_EQ(allocations, after);
}

TEST_F(FirstProgramTest, ProgramsAreTimedInShortRoundsBesideRuns) {
  Watch watch;
  const Session session = Make(/*cudnn_ms=*/0, std::make_unique<WatchedEngine>(watch));
  EXPECT_FALSE(RanGenerated(session));
  LetCompile();
  EXPECT_TRUE(HasNote(session, "it serves from now on")) << Notes(session);
  EXPECT_LT(watch.launches, 60);  // 3 rounds of 20 ms, not of 170
}

TEST_F(FirstProgramTest, EachSetOfShapesHasItsOwn) {
  const Session session = Make(/*cudnn_ms=*/0, /*kernel_ms=*/3);
  LetCompile();
  for (const int64_t n : {8, 24}) {
    const std::vector<float> x(n, 1);
    ASSERT_TRUE(session.Run({View(x.data(), {n})}).ok());
    EXPECT_TRUE(HasNote(session, absl::StrCat("background build of x[", n, "]"))) << n;
  }
  EXPECT_EQ(session.stats().builds.size(), 4u);
}

TEST_F(FirstProgramTest, ABucketOfShapesHasItsOwn) {
  SessionOptions options;
  options.shape_buckets = {"all"};
  const Session session = Make(/*cudnn_ms=*/0, /*kernel_ms=*/3, options);
  EXPECT_FALSE(RanGenerated(session));  // though nothing may be compiled yet
  LetCompile();
  ASSERT_TRUE(HasNote(session, ": it serves from now on")) << Notes(session);
  EXPECT_TRUE(absl::StrContains(Notes(session), "background build of x[16]")) << Notes(session);
  EXPECT_TRUE(RanGenerated(session));
  const SessionStats stats = session.stats();
  EXPECT_EQ(stats.padded_runs, 2);
  EXPECT_EQ(stats.programs_built, 1);
  ASSERT_EQ(stats.builds.size(), 2u);
  EXPECT_TRUE(stats.builds[0].is_quick);
  EXPECT_FALSE(stats.builds[1].is_quick);
}

TEST_F(FirstProgramTest, ASlowerBestProgramIsNotTaken) {
  const Session session = Make(/*cudnn_ms=*/3, /*kernel_ms=*/0);
  LetCompile();
  EXPECT_FALSE(RanGenerated(session));
  EXPECT_TRUE(HasNote(session, " us: that one stays")) << Notes(session);
  EXPECT_FALSE(RanGenerated(session));
}

TEST_F(FirstProgramTest, WhatNoOtherEngineTakesIsCompiledBeforeTheFirstRun) {
  const Session session = Make(/*cudnn_ms=*/0, /*kernel_ms=*/-1);
  LetCompile();
  EXPECT_TRUE(RanGenerated(session));  // and not on the host
  EXPECT_TRUE(HasNote(session, "x[16]: the best program is the one that serves")) << Notes(session);
}

TEST_F(FirstProgramTest, ClosingTheSessionEndsTheWork) {
  {
    const Session session = Make(/*cudnn_ms=*/0, /*kernel_ms=*/3);
    EXPECT_FALSE(RanGenerated(session));
    LetCompile();
  }
}

TEST_F(FirstProgramTest, WithPinsTheFirstProgramIsTheBest) {
  LetCompile();
  const Session session = Make(/*cudnn_ms=*/0, /*kernel_ms=*/3, {.pins = "pin cudnn y"});
  EXPECT_TRUE(RanGenerated(session));
  EXPECT_FALSE(session.stats().builds[0].is_quick);
}

TEST_F(FirstProgramTest, ATuneBudgetInTheForegroundContradictsIt) {
  const absl::StatusOr<Session> session =
      SessionMaker::Make("g (float[N] x) => (float[N] y) { y = Relu(x) }",
                         {.tune_budget_s = 1, .first_program = FirstProgram::kQuick});
  EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(session.status().message(), "expected kBackground"));
}

// By the rules and prices of an H200.
TEST(FirstProgramOnAnH200Test, TakesAKernelOfOursForAProduct) {
  const auto engine_of = [](FirstProgram first_program) {
    Graph graph =
        GraphWithWeights("g (float[512,512] x, float[512,512] w) => (y) { y = MatMul(x, w) }");
    const auto model = LoadedModel::Create(
        std::move(graph), {.precision = PrecisionChoice::kStrict, .first_program = first_program},
        /*load_ms=*/0, SessionMaker::Open().value());
    const TensorView x = {.dtype = DType::kF32, .shape = {512, 512}};
    const auto pool = (*model)->Prepare({&x}, /*callers_stream=*/nullptr);
    EXPECT_TRUE(pool.ok()) << pool.status();
    return std::string((*pool)->program().partitions[0].chosen.engine->name());
  };
  EXPECT_EQ(engine_of(FirstProgram::kBest), "gemm");
  EXPECT_EQ(engine_of(FirstProgram::kQuick), "kernel");
}

TEST(FirstProgramOnTheCpuTest, HasNoEffect) {
  Result<Session> session = Session::LoadBytes(
      ModelBytesFromText("g (float[N] x) => (float[N] y) { y = Relu(x) }").value(),
      {.device = DeviceChoice::kCpu, .first_program = FirstProgram::kQuick});
  ASSERT_TRUE(session.ok());
  const std::vector<float> x(kN, 1);
  ASSERT_TRUE(session.value().Run({View(x.data(), {kN})}).ok());
  const SessionStats stats = session.value().stats();
  ASSERT_EQ(stats.builds.size(), 1u);
  EXPECT_FALSE(stats.builds[0].is_quick);
}

// A segment is a Program like others.
TEST(SegmentTuningTest, SegmentsAreMeasuredAndTakenFromThePlanCache) {
  const TempFolder folder;
  const std::string worker = Worker(folder, "exit 1\n");
  const auto make = [&](double budget_s) {
    OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true})};
    EngineList late;
    late.push_back(
        std::make_unique<LateEngine>("late", std::vector<LateVariant>{{.ms = 3}, {.off = kOff}}));
    opened.target = TargetOver(GpuEngines(std::move(late)), H200());
    return *SessionMaker::Make(
        "g (float[N] x, float s) => (float[N] y, int64[0,K] found) "
        "{ y = Relu(x) found = NonZero(s) }",
        {.tune_budget_s = budget_s, .plan_cache = folder.path("plans.json"), .tune_worker = worker},
        std::move(opened));
  };
  const std::vector<float> x = {1, 0, 1, 1};
  for (const double budget_s : {60.0, 0.0}) {
    const Session session = make(budget_s);
    auto outputs = session.Run({View(x.data(), {4}), View(x.data(), {})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].data<float>()[0], 1 + kOff);  // the faster of the two variants
    const SessionStats stats = session.stats();
    EXPECT_EQ(stats.tuned_signatures, budget_s > 0 ? 1 : 0);
    EXPECT_EQ(stats.cached_signatures, budget_s > 0 ? 0 : 1);
  }
}

}  // namespace
}  // namespace onnx_cudnn

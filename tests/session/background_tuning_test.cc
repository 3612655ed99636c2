#include "runtime/session/background_tuning.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/plan/known_devices.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/late_engine.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);  // for what takes milliseconds

bool WaitFor(const std::function<bool()>& is_so) {
  for (const absl::Time end = absl::Now() + kLong; absl::Now() < end;) {
    if (is_so()) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return false;
}

using Key = BackgroundTuning::Key;

TEST(BackgroundTuningTest, TunesInOrderAndHoldsFewAndNoneTwice) {
  absl::Notification began, go_on, all;
  std::vector<Dims> tuned;
  const auto tune = [&](const Key& key, const std::atomic<bool>&) {
    if (tuned.empty()) {
      began.Notify();
      go_on.WaitForNotification();
    }
    tuned.push_back(key.dims[0]);
    if (tuned.size() == 3) all.Notify();
  };
  BackgroundTuning tuning(
      tune, [] {}, /*most_waiting=*/2);
  EXPECT_TRUE(tuning.Add({{{1}}}));
  ASSERT_TRUE(began.WaitForNotificationWithTimeout(kLong));
  EXPECT_TRUE(tuning.Add({{{2}}}));
  EXPECT_TRUE(tuning.Add({{{3}}}));
  EXPECT_TRUE(tuning.Add({{{2}}}));
  EXPECT_FALSE(tuning.Add({{{4}}}));
  go_on.Notify();
  EXPECT_TRUE(all.WaitForNotificationWithTimeout(kLong));
  tuning.Stop();
  EXPECT_EQ(tuned, (std::vector<Dims>{{1}, {2}, {3}}));
}

TEST(BackgroundTuningTest, StopInterruptsAndDropsWhatWaits) {
  absl::Notification began, interrupted;
  int tuned = 0;
  bool was_stopped = false;
  const auto tune = [&](const Key&, const std::atomic<bool>& stop) {
    ++tuned;
    began.Notify();
    interrupted.WaitForNotificationWithTimeout(kLong);
    was_stopped = stop;
  };
  BackgroundTuning tuning(
      tune, [&] { interrupted.Notify(); }, /*most_waiting=*/2);
  tuning.Add({{{1}}});
  tuning.Add({{{2}}});
  ASSERT_TRUE(began.WaitForNotificationWithTimeout(kLong));
  tuning.Stop();
  tuning.Stop();  // does nothing
  EXPECT_EQ(tuned, 1);
  EXPECT_TRUE(was_stopped);
}

constexpr int64_t kN = 16;
constexpr float kOff = 1e-4f;  // what tuning allows
const std::vector<LateVariant> kSlowFirst = {{.ms = 3}, {.off = kOff}};
constexpr char kDone[] = "echo '{\"done\": true}'\n";

class BackgroundTuningSessionTest : public testing::Test {
 protected:
  static Session Make(const std::vector<LateVariant>& variants, const SessionOptions& options) {
    OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true})};
    EngineList late;
    late.push_back(std::make_unique<LateEngine>("late", variants));
    opened.target = TargetOver(GpuEngines(std::move(late)), H200());
    absl::StatusOr<Session> session = SessionMaker::Make(
        "g (float[N] x) => (float[N] y) { y = Relu(x) }", options, std::move(opened));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  // y[0] for x = 1, or the error.
  static std::string FirstOf(const Session& session) {
    const std::vector<float> x(kN, 1);
    Result<std::vector<Tensor>> outputs = session.Run({View(x.data(), {kN})});
    return outputs.ok() ? absl::StrCat(outputs.value()[0].data<float>()[0])
                        : outputs.error().message;
  }
  // A worker's script that returns the plans of a Session that was tuned before.
  std::string TakePlans(const std::vector<LateVariant>& variants, SessionOptions options = {}) {
    options.tune_budget_s = 60;
    options.plan_cache = folder_.path("plans.json");
    EXPECT_EQ(FirstOf(Make(variants, options)), absl::StrCat(1 + variants[1].off));
    return absl::StrCat("cp ", options.plan_cache, " \"$2\"\n");
  }
  SessionOptions Background(std::string_view script, SessionOptions options = {}) const {
    options.tune = TuneMode::kBackground;
    options.tune_worker = Worker(folder_, script);
    return options;
  }
  // A script that waits for Go.
  std::string Wait() const {
    return absl::StrCat("while [ ! -e ", folder_.path("go"), " ]; do sleep 0.01; done\n");
  }
  void Go() const { folder_.Write("go", ""); }

  static std::string Notes(const Session& session) {
    return absl::StrJoin(session.stats().tune_notes, "\n");
  }
  static bool HasNote(const Session& session, std::string_view text) {
    return WaitFor([&] { return absl::StrContains(Notes(session), text); });
  }

  const TempFolder folder_;
  const std::string exact_ = absl::StrCat(1.0f), tuned_ = absl::StrCat(1 + kOff);
};

TEST_F(BackgroundTuningSessionTest, ServesAtOnceAndSwapsWhenATunedProgramIsFaster) {
  const Session session =
      Make(kSlowFirst, Background(absl::StrCat(TakePlans(kSlowFirst), Wait(),
                                               "echo '{\"progress\": [1, 1]}'\n", kDone)));
  EXPECT_EQ(FirstOf(session), exact_);
  const std::vector<float> x(kN, 1);
  std::vector<float> y(kN);
  Binding binding = std::move(session.Bind({View(x.data(), {kN})}, {View(y.data(), {kN})})).value();
  EXPECT_EQ(session.stats().programs_swapped, 0);
  EXPECT_EQ(Notes(session), "");
  Go();
  ASSERT_TRUE(HasNote(session, "background tuning of x[16]: a run of the tuned program takes "))
      << Notes(session);
  EXPECT_TRUE(absl::EndsWith(Notes(session),
                             " us: it serves from now on, results may differ in the last bits"))
      << Notes(session);
  EXPECT_EQ(FirstOf(session), tuned_);
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(absl::StrCat(y[0]), exact_);
  Binding later = std::move(session.Bind({View(x.data(), {kN})}, {View(y.data(), {kN})})).value();
  ASSERT_TRUE(later.Run().ok());
  EXPECT_EQ(absl::StrCat(y[0]), tuned_);
  const SessionStats stats = session.stats();
  EXPECT_EQ(stats.programs_swapped, 1);
  EXPECT_EQ(stats.programs_held, 1);
  EXPECT_EQ(stats.tuned_signatures, 1);
  EXPECT_EQ(stats.tune_notes.size(), 1u);
}

TEST_F(BackgroundTuningSessionTest, ThreadsRunThroughASwap) {
  SessionOptions options = Background(absl::StrCat(TakePlans(kSlowFirst), Wait(), kDone));
  options.max_executors_per_program = 2;
  const Session session = Make(kSlowFirst, options);
  std::array<std::string, 4> wrong;
  std::atomic<int> begun = 0;
  std::vector<std::thread> threads;
  for (std::string& of_this : wrong) {
    threads.emplace_back([&] {
      bool swapped = false;
      for (int more = 5; more > 0; more -= swapped) {  // Runs that begin after the swap
        const std::string y = FirstOf(session);
        if (y != tuned_ && (swapped || y != exact_)) of_this = y;
        ++begun;
        swapped = session.stats().programs_swapped == 1;
        if (absl::StrContains(Notes(session), "stays")) break;
      }
    });
  }
  EXPECT_TRUE(WaitFor([&] { return begun >= 8; }));
  Go();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<std::string, 4>{}));
  EXPECT_EQ(session.stats().programs_swapped, 1) << Notes(session);
}

TEST_F(BackgroundTuningSessionTest, TheNetworkThatAWorkerFoundFastestIsTaken) {
  const SessionOptions options{.partitioner = PartitionerChoice::kCost};
  const Session session =
      Make(kSlowFirst, Background(absl::StrCat(TakePlans(kSlowFirst, options), kDone), options));
  EXPECT_EQ(FirstOf(session), exact_);
  EXPECT_TRUE(HasNote(session, "it serves from now on")) << Notes(session);
  EXPECT_EQ(FirstOf(session), tuned_);
}

TEST_F(BackgroundTuningSessionTest, ASlowerProgramIsNotTaken) {
  const std::string script = absl::StrCat(TakePlans(kSlowFirst), kDone);
  const Session session = Make({kSlowFirst[1], kSlowFirst[0]}, Background(script));
  EXPECT_EQ(FirstOf(session), tuned_);
  EXPECT_TRUE(HasNote(session, " us: that one stays")) << Notes(session);
  EXPECT_EQ(FirstOf(session), tuned_);
  EXPECT_EQ(session.stats().programs_swapped, 0);
}

TEST_F(BackgroundTuningSessionTest, TheSameProgramIsNotTaken) {
  const std::vector<LateVariant> alike = {{.off = kOff}, {.off = kOff}};
  const std::string plans = folder_.path("plans.json");
  const std::string script = absl::StrCat(TakePlans(alike), kDone);
  const auto cache = *PlanCache::Open(plans);
  PlanFile file = *ReadPlanFile(plans);
  for (auto& [key, first] : file.entries) {
    first.variant = "0";
    cache->Put(first);
  }
  ASSERT_TRUE(cache->WriteTo(plans).ok());
  const Session session = Make(alike, Background(script));
  EXPECT_EQ(FirstOf(session), tuned_);
  EXPECT_TRUE(HasNote(session, "x[16]: the tuned program is the one that serves"))
      << Notes(session);
  EXPECT_EQ(session.stats().programs_swapped, 0);
}

TEST_F(BackgroundTuningSessionTest, CachedPlansAreUsedAtOnceAndNotTunedAgain) {
  TakePlans(kSlowFirst);
  SessionOptions options = Background(absl::StrCat(": >", folder_.path("began"), "\n", kDone));
  options.plan_cache = folder_.path("plans.json");
  {
    const Session session = Make(kSlowFirst, options);
    EXPECT_EQ(FirstOf(session), tuned_);
    EXPECT_EQ(session.stats().cached_signatures, 1);
    EXPECT_EQ(Notes(session), "");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path("began")));
}

TEST_F(BackgroundTuningSessionTest, AWorkerThatFailsLeavesNotesAlone) {
  const Session session = Make(kSlowFirst, Background("echo '{\"error\": \"no GPU\"}'\nexit 5\n"));
  EXPECT_EQ(FirstOf(session), exact_);
  EXPECT_TRUE(HasNote(session,
                      "the worker program tried nothing: no GPU\n"
                      "nothing more is tuned in the background"))
      << Notes(session);
  EXPECT_EQ(FirstOf(session), exact_);
  const std::vector<float> other(2 * kN, 1);
  EXPECT_TRUE(session.Run({View(other.data(), {2 * kN})}).ok());
  EXPECT_TRUE(HasNote(session, "no worker program serves: further input shapes are not tuned"))
      << Notes(session);
  EXPECT_EQ(session.stats().tuned_signatures, 0);
}

TEST_F(BackgroundTuningSessionTest, WithoutAWorkerProgramNothingIsTuned) {
  const Session session =
      Make(kSlowFirst, {.tune = TuneMode::kBackground, .tune_worker = "/none/worker"});
  EXPECT_EQ(FirstOf(session), exact_);
  EXPECT_EQ(Notes(session),
            "no worker program /none/worker: No such file or directory: nothing is tuned in the "
            "background");
  EXPECT_EQ(session.stats().tuned_signatures, 0);
}

TEST_F(BackgroundTuningSessionTest, ClosingTheSessionEndsTheWorkerAndKeepsWhatItMeasured) {
  const std::string began = folder_.path("began");
  SessionOptions options =
      Background(absl::StrCat(TakePlans(kSlowFirst), ": >", began, "\nexec sleep 60\n", kDone));
  options.plan_cache = folder_.path("own.json");
  Session session = Make(kSlowFirst, options);
  EXPECT_EQ(FirstOf(session), exact_);
  const std::vector<float> x(kN, 1);
  std::vector<float> y(kN);
  Binding binding = std::move(session.Bind({View(x.data(), {kN})}, {View(y.data(), {kN})})).value();
  ASSERT_TRUE(WaitFor([&] { return std::filesystem::exists(began); }));
  const absl::Time start = absl::Now();
  session = Make(kSlowFirst, {});
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(absl::StrCat(y[0]), exact_);
  const auto kept = ReadPlanFile(options.plan_cache);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->entries.size(), 1u);
  EXPECT_EQ(kept->failed.size(), 0u);
}

// An Executor holds 64 bytes each of x and y, on the device and pinned.
TEST_F(BackgroundTuningSessionTest, TheByteLimitHoldsForBothPrograms) {
  for (const auto& [bytes, says] : {std::pair{3 * 256, "it serves from now on"},
                                    std::pair{3 * 256 - 1, "in all, the limit is 767"}}) {
    const SessionOptions options{.max_memory_bytes = bytes, .max_executors_per_program = 1};
    const Session session =
        Make(kSlowFirst, Background(absl::StrCat(TakePlans(kSlowFirst, options), kDone), options));
    EXPECT_EQ(FirstOf(session), exact_);
    EXPECT_TRUE(HasNote(session, says)) << bytes << "\n" << Notes(session);
  }
}

}  // namespace
}  // namespace onnx_cudnn

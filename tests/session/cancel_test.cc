// RunOptions::cancel and SessionOptions::cancel.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/session/shifted_relu.h"
#include "tests/support/expect_error.h"
#include "tests/support/hook_engine.h"
#include "tests/support/session_maker.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kN = 64;
// y = x − 1 by two branches with two Relus each.
constexpr std::string_view kBranches = R"(
    g (float[N] x) => (float[N] y) <float one = {1}, float two = {2}> {
      a = Relu(x)
      b = Add(a, one)
      c = Relu(b)
      n = Neg(x)
      d = Relu(n)
      e = Add(d, two)
      f = Relu(e)
      y = Sub(c, f)
    })";
constexpr int kRelus = 4;

class CancelTest : public testing::Test {
 protected:
  Session Make(const SessionOptions& options, const CpuDeviceOptions& device = {}) {
    OpenedDevice opened{.device = MakeCpuDevice(device), .target = HookTarget(hooks_)};
    return SessionMaker::Make(kBranches, options, std::move(opened)).value();
  }
  static Result<std::vector<Tensor>> Run(const Session& session,
                                         const std::atomic<bool>* cancel = nullptr, float value = 5,
                                         int64_t n = kN) {
    const std::vector<float> x(n, value);
    return session.Run({View(x.data(), {n})}, {.cancel = cancel});
  }
  static void ExpectRight(const Session& session, float value = 5, int64_t n = kN) {
    const auto outputs = Run(session, nullptr, value, n);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(Values(Result(outputs).value()[0]), std::vector<float>(n, value - 1));
  }
  static void ExpectCancelledWhileItWaits(const Session& session) {
    std::atomic<bool> cancel = false;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancel = true;
    });
    ExpectError(Run(session, &cancel), ErrorCode::kCancelled, "cancelled");
    other.join();
  }

  Hooks hooks_;
};

TEST_F(CancelTest, ARunEndsBeforeTheNextStep) {
  for (const int streams : {1, 2}) {
    std::atomic<bool> cancel = false;
    int launches = 0;
    hooks_.launch = [&] { cancel = ++launches == 2; };
    const Session session = Make({.streams = streams});
    ExpectError(Run(session, &cancel), ErrorCode::kCancelled, "cancelled during the run");
    EXPECT_EQ(launches, 2);
    ExpectRight(session);
    EXPECT_EQ(launches, 2 + kRelus);
    EXPECT_EQ(session.stats().programs_built, 1);
  }
}

TEST_F(CancelTest, ABindingGoesOnAfterACancelledRun) {
  std::atomic<bool> cancel = false;
  hooks_.launch = [&] { cancel = true; };
  const Session session = Make({});
  std::vector<float> x(kN, 3), y(kN);
  Binding binding = session.Bind({View(x.data(), {kN})}, {View(y.data(), {kN})}).value();
  for (int run = 0; run < 3; ++run) {
    cancel = false;
    ExpectError(binding.Run({.cancel = &cancel}), ErrorCode::kCancelled, "cancelled");
    y.assign(kN, 0);
    ASSERT_TRUE(binding.Run().ok());
    EXPECT_EQ(y, std::vector<float>(kN, 2));
  }
}

// As on a GPU: launches are queued, the second Run is captured and later ones are replayed.
TEST_F(CancelTest, CapturedRunsAreCancelledBeforeTheyStart) {
  for (const int streams : {1, 2}) {
    std::atomic<int> launches = 0;
    hooks_.launch = [&] { ++launches; };
    const Session session = Make({.streams = streams}, {.interleave_seed = 3, .like_a_gpu = true});
    const std::atomic<bool> cancel = true;
    for (int run = 0; run < 4; ++run) {
      const int before = launches;
      ExpectError(Run(session, &cancel), ErrorCode::kCancelled, "cancelled");
      EXPECT_EQ(launches, before);
      ExpectRight(session, static_cast<float>(run));
      EXPECT_EQ(launches, before + kRelus);
    }
  }
}

TEST_F(CancelTest, RunsOfOtherThreadsGoOn) {
  const Session session = Make({.max_executors_per_program = 2});
  std::array<int, 4> wrong = {};
  std::vector<std::thread> threads;
  std::atomic<int> cancelled = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto value = static_cast<float>(t + i);
        const std::atomic<bool> cancel = t % 2 == 1;
        auto outputs = Run(session, &cancel, value);
        const bool as_asked =
            cancel
                ? !outputs.ok() && outputs.error().code == ErrorCode::kCancelled
                : outputs.ok() && Values(outputs.value()[0]) == std::vector<float>(kN, value - 1);
        cancelled += cancel;
        wrong[t] += !as_asked;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
  EXPECT_EQ(cancelled, 100);
  ExpectRight(session);
}

TEST_F(CancelTest, AWaitForAnExecutorEnds) {
  const Session session = Make({.max_executors_per_program = 1});
  ExpectRight(session);
  absl::Notification entered, leave;
  hooks_.launch = [&] {
    if (!entered.HasBeenNotified()) entered.Notify();
    leave.WaitForNotification();
  };
  std::thread busy([&] { ExpectRight(session); });
  entered.WaitForNotification();
  ExpectCancelledWhileItWaits(session);
  leave.Notify();
  busy.join();
  ExpectRight(session);
}

// Two Sessions with one arena; a Run of the first has it.
TEST_F(CancelTest, AWaitForASharedArenaEnds) {
  const SessionOptions options{.arena = std::make_shared<SharedArena>(1 << 20)};
  absl::Notification entered, leave;
  std::atomic<bool> blocks = false;
  hooks_.launch = [&] {
    if (!blocks.exchange(false)) return;
    entered.Notify();
    leave.WaitForNotification();
  };
  const Session first = Make(options), second = Make(options);
  ExpectRight(first);
  ExpectRight(second);
  blocks = true;
  std::thread busy([&] { ExpectRight(first); });
  entered.WaitForNotification();
  ExpectCancelledWhileItWaits(second);
  leave.Notify();
  busy.join();
  ExpectRight(second);
}

TEST_F(CancelTest, BuildingEndsBeforeTheNextPartition) {
  std::atomic<bool> cancel = false;
  int compiled = 0;
  hooks_.compile = [&] {
    ++compiled;
    cancel = true;
  };
  const Session session = Make({.threads = 1});
  ExpectError(Run(session, &cancel), ErrorCode::kCancelled, "cancelled");
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(session.stats().programs_built, 0);
  ExpectRight(session);
  ExpectRight(session, 7, 2 * kN);
  EXPECT_EQ(session.stats().programs_built, 2);
}

// The flag is that of the caller that builds: those that wait for its Program still get one.
TEST_F(CancelTest, ARunThatWaitsForACancelledBuildBuilds) {
  absl::Notification building, go_on;
  hooks_.compile = [&] {
    if (building.HasBeenNotified()) return;
    building.Notify();
    go_on.WaitForNotification();
  };
  const Session session = Make({.threads = 1});
  std::atomic<bool> cancel = false;
  std::thread first(
      [&] { ExpectError(Run(session, &cancel), ErrorCode::kCancelled, "cancelled"); });
  building.WaitForNotification();
  std::thread second([&] { ExpectRight(session); });
  std::atomic<bool> third_cancel = false;
  std::thread third(
      [&] { ExpectError(Run(session, &third_cancel), ErrorCode::kCancelled, "cancelled"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that both wait
  third_cancel = true;
  third.join();  // while the first builds
  cancel = true;
  go_on.Notify();
  first.join();
  second.join();
  EXPECT_EQ(session.stats().programs_built, 1);
}

TEST_F(CancelTest, AWorkerProgramIsKilled) {
  const TempFolder folder;
  const SessionOptions options{.tune_budget_s = 600,
                               .tune_worker = Worker(folder, "exec sleep 600\n")};
  OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true}), .target = HookTarget(hooks_)};
  const Session session = SessionMaker::Make(kBranches, options, std::move(opened)).value();
  std::atomic<bool> cancel = false;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel = true;
  });
  const auto start = std::chrono::steady_clock::now();
  ExpectError(Run(session, &cancel), ErrorCode::kCancelled, "cancelled");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  other.join();
  EXPECT_EQ(session.stats().tune_notes, std::vector<std::string>());
}

TEST_F(CancelTest, LoadEndsAndTheFlagIsLoadsAlone) {
  const std::string bytes = ModelBytesFromText(kShiftedRelu).value();
  std::atomic<bool> cancel = true;
  ExpectError(Session::LoadBytes(bytes, {.device = DeviceChoice::kCpu, .cancel = &cancel}),
              ErrorCode::kCancelled, "cancelled");
  cancel = false;
  const Session session =
      Session::LoadBytes(bytes, {.device = DeviceChoice::kCpu, .cancel = &cancel}).value();
  cancel = true;
  const std::vector<float> x = Rows(2, 3);
  EXPECT_EQ(Values(session.Run({View(x.data(), {2, 4})}).value()[0]), ShiftedRows(2, 3));
}

}  // namespace
}  // namespace onnx_cudnn

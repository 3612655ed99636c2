#include "runtime/base/run_times.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace onnx_cudnn {
namespace {

constexpr absl::Duration kShort = absl::Milliseconds(5), kLong = absl::Milliseconds(50);

TEST(RunTimesTest, APhaseDoesNotCountThoseWithinIt) {
  RunTimes times;
  const absl::Time start = absl::Now();
  {
    CollectRunTimes(&times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    const PhaseTimer outer(RunPhase::kExecutor);
    absl::SleepFor(kShort);
    for (int i = 0; i < 2; ++i) {
      const PhaseTimer inner(RunPhase::kAllocate);
      absl::SleepFor(kLong);
    }
  }
  const double all_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  EXPECT_GE(times[RunPhase::kAllocate], 2 * absl::ToDoubleMilliseconds(kLong));
  EXPECT_GE(times[RunPhase::kExecutor], absl::ToDoubleMilliseconds(kShort));
  EXPECT_LE(times.sum(), all_ms);  // nothing is counted twice
  EXPECT_EQ(times[RunPhase::kUpload], 0);
}

TEST(RunTimesTest, OtherThreadsAndTimersOutsideAddNothing) {
  RunTimes times;
  {
    CollectRunTimes(&times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    std::thread other([] {
      const PhaseTimer timer(RunPhase::kLock);
      absl::SleepFor(kShort);
    });
    other.join();
  }
  {
    const PhaseTimer timer(RunPhase::kLock);
    absl::SleepFor(kShort);
  }
  EXPECT_EQ(times.sum(), 0);
}

TEST(RunTimesTest, PhasesHaveNames) {
  EXPECT_EQ(NameOf(RunPhase::kProgram), "program");
  EXPECT_EQ(NameOf(RunPhase::kPin), "pin");
  EXPECT_EQ(NameOf(RunPhase::kLibrary), "library");
  EXPECT_EQ(NameOf(RunPhase::kDevice), "device");
}

}  // namespace
}  // namespace onnx_cudnn

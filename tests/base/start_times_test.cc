#include "runtime/base/start_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/time/clock.h"

namespace onnx_cudnn {
namespace {

std::optional<StartTime> Find(std::string_view name) {
  const std::vector<StartTime> times = StartTimes();
  const auto found = std::find_if(times.begin(), times.end(),
                                  [&](const StartTime& time) { return time.name == name; });
  return found == times.end() ? std::nullopt : std::optional(*found);
}

TEST(StartTimesTest, StretchesOfAllThreadsAreSummedByName) {
  const auto sleep = [] {
    const StartScope scope("of two threads");
    absl::SleepFor(absl::Milliseconds(20));
  };
  std::thread other(sleep);
  sleep();
  other.join();
  const std::optional<StartTime> time = Find("of two threads");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->stretches, 2);
  EXPECT_GE(time->ms, 40);
  EXPECT_GE(time->end_ms, time->begin_ms + 20);
}

TEST(StartTimesTest, AStretchThatStillLastsHasABeginAndNoTime) {
  const StartScope outer("lasts");
  { const StartScope inner("has ended"); }
  EXPECT_EQ(Find("lasts")->stretches, 0);
  EXPECT_EQ(Find("lasts")->ms, 0);
  EXPECT_EQ(Find("has ended")->stretches, 1);
  EXPECT_LE(Find("lasts")->begin_ms, Find("has ended")->begin_ms);
}

}  // namespace
}  // namespace onnx_cudnn

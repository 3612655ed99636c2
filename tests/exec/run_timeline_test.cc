// The times of Steps and copies: ExecutorOptions::times_steps.
#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/host_span.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/executor.h"
#include "tests/exec/program_maker.h"

namespace onnx_cudnn {
namespace {

constexpr double kLongUs = 20'000;

class SlowStep final : public FormulaStep {
 public:
  SlowStep() : FormulaStep(Times(1), {}) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    absl::SleepFor(absl::Microseconds(kLongUs));
    return FormulaStep::Launch(args);
  }
};

// y = 3x: a short Step, a view, a long Step.
std::shared_ptr<Program> ShortViewLong() {
  ProgramMaker maker;
  const int tripled = maker.Add(Times(3), {maker.Input()});
  maker.Output(maker.Add(std::make_shared<SlowStep>(), {maker.AddView(tripled)}));
  return std::move(maker).Make(1);
}

class RunTimelineTest : public testing::TestWithParam<bool> {
 protected:
  // The timelines of the first three Runs on host memory.
  std::vector<RunTimeline> Run(std::shared_ptr<const Program> program) {
    ConstantStore constants(*device_);
    const auto executor =
        *Executor::Create(std::move(program), *device_, constants,
                          {.capture = true, .fixed_pointers = true, .times_steps = true});
    const Floats x(kElements, 1);
    Floats y(kElements);
    std::vector<RunTimeline> runs;
    for (int run = 0; run < 3; ++run) {
      const double before_us = HostClockUs();
      EXPECT_TRUE(executor->Run({x.data()}, {y.data()}).ok());
      EXPECT_EQ(y, Floats(kElements, 3));
      absl::StatusOr<RunTimeline> last = executor->LastRun();
      EXPECT_TRUE(last.ok()) << last.status();
      EXPECT_GE(last->begin_us, before_us);
      EXPECT_LE(last->begin_us, HostClockUs());
      runs.push_back(*std::move(last));
    }
    return runs;
  }
  bool is_like_a_gpu() const { return GetParam(); }

  const std::unique_ptr<Device> device_ = MakeCpuDevice({.like_a_gpu = GetParam()});
};

INSTANTIATE_TEST_SUITE_P(Devices, RunTimelineTest, testing::Bool(), [](const auto& info) {
  return info.param ? "CapturesAndCopies" : "RunsAtOnce";
});

TEST_P(RunTimelineTest, TimesEachLaunchOfEachRun) {
  const std::vector<RunTimeline> runs = Run(ShortViewLong());
  double shortest_us = 1e9;
  for (const RunTimeline& run : runs) {
    ASSERT_EQ(run.steps.size(), 3u);
    EXPECT_GT(run.steps[0].us, 0);
    shortest_us = std::min(shortest_us, run.steps[0].us);
    EXPECT_EQ(run.steps[1].us, 0);
    EXPECT_GE(run.steps[2].us, kLongUs);
    EXPECT_GE(run.steps[0].begin_us, run.copies_in.begin_us + run.copies_in.us);
    EXPECT_GE(run.steps[2].begin_us, run.steps[0].begin_us + run.steps[0].us);
    EXPECT_GE(run.copies_out.begin_us, run.steps[2].begin_us + kLongUs);
  }
  EXPECT_LT(shortest_us, kLongUs);
}

TEST_P(RunTimelineTest, SaysWhatWasReplayedAndCopied) {
  const std::vector<RunTimeline> runs = Run(ShortViewLong());
  EXPECT_FALSE(runs[0].is_replay);
  for (const RunTimeline& run : runs) {
    EXPECT_EQ(run.bytes_in, is_like_a_gpu() ? kBytes : 0);
    EXPECT_EQ(run.bytes_out, is_like_a_gpu() ? kBytes : 0);
  }
  for (int run = 1; run < 3; ++run) EXPECT_EQ(runs[run].is_replay, is_like_a_gpu());
}

TEST(ExecutorWithoutTimesTest, HasNoTimeline) {
  const auto device = MakeCpuDevice();
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(ShortViewLong(), *device, constants);
  const Floats x = Inputs();
  Floats y(kElements);
  ASSERT_TRUE(executor->Run({x.data()}, {y.data()}).ok());
  EXPECT_EQ(executor->LastRun().status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace onnx_cudnn

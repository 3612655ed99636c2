// The times of Steps of an Executor on the CUDA device, by events: eager, and recorded by a graph.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/probe.h"
#include "runtime/exec/executor.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/exec/program_maker.h"

namespace onnx_cudnn {
namespace {

// Launches an empty kernel some times.
class LaunchesStep final : public FormulaStep {
 public:
  explicit LaunchesStep(int launches) : FormulaStep(Sum, {}), launches_(launches) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    for (int i = 0; i < launches_; ++i) {
      const absl::Status launched = LaunchKernel({.function = ProbeKernel()}, nullptr, args.stream);
      if (!launched.ok()) return launched;
    }
    return absl::OkStatus();
  }

 private:
  const int launches_;
};

// Two branches and a Step that joins them.
std::shared_ptr<Program> TwoBranches() {
  ProgramMaker maker;
  const auto launches = [&](int count, std::vector<int> in) {
    return maker.Add(std::make_shared<LaunchesStep>(count), std::move(in));
  };
  const int x = maker.Input();
  const int a = launches(1, {x}), b = launches(3, {x});
  maker.Output(launches(2, {a, b}));
  return std::move(maker).Make(2);
}

TEST(CudaRunTimelineTest, EventsWithinTheGraphTimeEachReplay) {
  FakeCuda cuda;
  {
    const std::unique_ptr<Device> device = *OpenCudaDevice();
    ConstantStore constants(*device);
    const auto executor =
        *Executor::Create(TwoBranches(), *device, constants,
                          {.capture = true, .fixed_pointers = true, .times_steps = true});
    const Floats x(kElements);
    Floats y(kElements);
    for (int run = 0; run < 4; ++run) {  // eager, captured, replayed
      ASSERT_TRUE(executor->Run({x.data()}, {y.data()}).ok());
      const absl::StatusOr<RunTimeline> timeline = executor->LastRun();
      ASSERT_TRUE(timeline.ok()) << timeline.status();
      EXPECT_EQ(timeline->is_replay, run > 0);
      EXPECT_EQ(timeline->bytes_in, kBytes);
      // The fake's launch takes a millisecond within a graph; elsewhere everything takes half of
      // one.
      const std::vector<double> expected =
          run == 0 ? std::vector<double>{500, 500, 500} : std::vector<double>{1000, 3000, 2000};
      ASSERT_EQ(timeline->steps.size(), 3u);
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(timeline->steps[i].us, expected[i]) << run;
    }
    EXPECT_EQ(cuda.launches(), 4 * 6);
  }
  EXPECT_EQ(cuda.held(), 0);
}

TEST(CudaRunTimelineTest, LaunchesAreTimedWhereTheDriverRefusesTheGraph) {
  for (int at = 0;; ++at) {
    FakeCuda cuda({.fail_at = at});
    const auto device = OpenCudaDevice();
    if (!device.ok()) continue;
    ConstantStore constants(**device);
    const auto executor =
        Executor::Create(TwoBranches(), **device, constants,
                         {.capture = true, .fixed_pointers = true, .times_steps = true});
    if (!executor.ok()) continue;
    const Floats x(kElements);
    Floats y(kElements);
    absl::Status ran;
    for (int run = 0; run < 3 && ran.ok(); ++run) ran = (*executor)->Run({x.data()}, {y.data()});
    ASSERT_NE(cuda.failed_call(), "") << "cudaGraphInstantiate was not called";
    if (cuda.failed_call() != "cudaGraphInstantiate") continue;
    EXPECT_TRUE(ran.ok()) << ran;
    EXPECT_NE((*executor)->capture_note(), "");
    const absl::StatusOr<RunTimeline> timeline = (*executor)->LastRun();
    ASSERT_TRUE(timeline.ok()) << timeline.status();
    EXPECT_FALSE(timeline->is_replay);
    EXPECT_EQ(timeline->steps[0].us, 500);
    break;
  }
}

}  // namespace
}  // namespace onnx_cudnn

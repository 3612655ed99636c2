// Cancelled Runs of an Executor on the CUDA device: eager, captured and replayed.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/launch.h"
#include "runtime/exec/executor.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/exec/program_maker.h"

namespace onnx_cudnn {
namespace {

struct SumCall {
  std::vector<const float*> in;
  float* out;
  const std::function<void()>* before;
};

// The kernel: out = the sum of the inputs, plus 1.
void RunSum(void* argument) {
  const SumCall& call = *static_cast<const SumCall*>(argument);
  if (*call.before) (*call.before)();
  for (int64_t i = 0; i < kElements; ++i) {
    float sum = 1;
    for (const float* in : call.in) sum += in[i];
    call.out[i] = sum;
  }
}

class SumStep final : public Step {
 public:
  explicit SumStep(const std::function<void()>& before) : before_(before) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    auto call = std::make_unique<SumCall>();
    for (const void* in : args.in) call->in.push_back(static_cast<const float*>(in));
    call->out = static_cast<float*>(args.out[0]);
    call->before = &before_;
    const void* data = call.get();
    calls_.push_back(std::move(call));  // a captured launch runs later, many times
    void* arguments[] = {&data};
    return LaunchKernel({.function = reinterpret_cast<const void*>(RunSum)}, arguments,
                        args.stream);
  }
  std::string Save() const override { return ""; }

 private:
  const std::function<void()>& before_;
  mutable std::vector<std::unique_ptr<SumCall>> calls_;
};

constexpr int kSteps = 5;

// y = 2x + 5, by two branches of two Steps and one that joins them.
std::shared_ptr<Program> TwoBranches(int streams, const std::function<void()>& before) {
  ProgramMaker maker;
  const auto sum = [&](std::vector<int> in) {
    return maker.Add(std::make_shared<SumStep>(before), std::move(in));
  };
  const int x = maker.Input();
  const int a = sum({x}), b = sum({x});
  maker.Output(sum({sum({a}), sum({b})}));
  return std::move(maker).Make(streams);
}

class CancelTest : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Executor> Make(const std::function<void()>& before) {
    return *Executor::Create(TwoBranches(GetParam(), before), *device_, constants_,
                             {.capture = true});
  }
  static absl::Status Run(Executor& executor, float value, void* stream = nullptr,
                          const std::atomic<bool>* cancel = nullptr) {
    const Floats x(kElements, value);
    Floats y(kElements);
    const absl::Status status = executor.Run({x.data()}, {y.data()}, stream, cancel);
    if (status.ok()) {
      EXPECT_EQ(y, Floats(kElements, 2 * value + 5));
    }
    return status;
  }

  FakeCuda cuda_;
  std::unique_ptr<Device> device_ = *OpenCudaDevice();
  ConstantStore constants_{*device_};
};

TEST_P(CancelTest, ARunEndsBeforeTheNextLaunch) {
  for (void* stream : {static_cast<void*>(nullptr), cuda_.callers_stream()}) {
    std::atomic<bool> cancel = false;
    int launches = 0;
    const std::function<void()> before = [&] { cancel = ++launches == 2; };
    const auto executor = Make(before);
    EXPECT_TRUE(absl::IsCancelled(Run(*executor, 1, stream, &cancel)));
    EXPECT_EQ(launches, 2);
    for (int run = 0; run < 4; ++run) {  // eager, captured, replayed
      EXPECT_TRUE(Run(*executor, static_cast<float>(run), stream).ok());
    }
    EXPECT_EQ(launches, 2 + 4 * kSteps);
    EXPECT_TRUE(executor->is_captured());
  }
}

TEST_P(CancelTest, CapturesAndReplaysAreCancelledBeforeTheyStart) {
  int launches = 0;
  const std::function<void()> before = [&] { ++launches; };
  const auto executor = Make(before);
  const std::atomic<bool> cancel = true;
  for (int run = 0; run < 4; ++run) {
    EXPECT_TRUE(absl::IsCancelled(Run(*executor, 1, nullptr, &cancel)));
    EXPECT_EQ(launches, run * kSteps);
    EXPECT_TRUE(Run(*executor, static_cast<float>(run)).ok());
  }
  EXPECT_TRUE(executor->is_captured());
}

// Two callers of one Program alternate on their threads: the fake serves one at a time.
TEST_P(CancelTest, AnotherCallersRunsGoOn) {
  std::atomic<bool> cancel = false;
  int launches = 0;
  const std::function<void()> before = [&] { cancel = ++launches % 3 == 0; }, nothing;
  const auto cancelled = Make(before), other = Make(nothing);
  for (int run = 0; run < 20; ++run) {
    cancel = false;
    if (!cancelled->is_captured()) Run(*cancelled, 1, nullptr, &cancel).IgnoreError();
    std::thread([&] {
      ASSERT_TRUE(device_->MakeCurrent().ok());
      EXPECT_TRUE(Run(*other, static_cast<float>(run)).ok());
    }).join();
    EXPECT_TRUE(Run(*cancelled, static_cast<float>(-run)).ok());
  }
  EXPECT_TRUE(cancelled->is_captured());
  EXPECT_TRUE(other->is_captured());
}

INSTANTIATE_TEST_SUITE_P(Streams, CancelTest, testing::Values(1, 2));

}  // namespace
}  // namespace onnx_cudnn

// SessionOptions::threads and device_ordinal.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/thread_pool.h"
#include "runtime/plan/known_devices.h"
#include "tests/support/relu_engine.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kRelu = "g (float[2] x) => (float[2] y) { y = Relu(x) }";
const std::vector<float> kX = {1, -2};

std::atomic<int> limit_in_step;

// Records the thread limit under which it is launched.
class LimitStep final : public Step {
 public:
  int64_t workspace_bytes() const override { return 0; }
  absl::Status Launch(const LaunchArgs&) const override {
    limit_in_step = ThreadPool::limit();
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }
};

class LimitEngine final : public ReluEngine {
 public:
  std::string_view name() const override { return "limit"; }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 0.1}; }
  absl::StatusOr<Compiled> Compile(const Candidate&, const Variant&, const Target&) const override {
    return Compiled::As(std::make_shared<LimitStep>());
  }
};

OpenedDevice OpenWithLimitEngine(int ordinal = 0) {
  OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true}), .ordinal = ordinal};
  EngineList engines;
  engines.push_back(std::make_unique<LimitEngine>());
  opened.target = TargetOver(GpuEngines(std::move(engines)), H200());
  return opened;
}

TEST(HostOptionsTest, ThreadsLimitEveryRun) {
  for (const int threads : {0, 1, 3}) {
    const Session session =
        SessionMaker::Make(kRelu, {.threads = threads}, OpenWithLimitEngine()).value();
    limit_in_step = -1;
    ASSERT_TRUE(session.Run({View(kX.data(), {2})}).ok());
    EXPECT_EQ(limit_in_step, threads);
    std::vector<float> y(2);
    Binding binding = session.Bind({View(kX.data(), {2})}, {View(y.data(), {2})}).value();
    limit_in_step = -1;
    ASSERT_TRUE(binding.Run().ok());
    EXPECT_EQ(limit_in_step, threads);
    EXPECT_EQ(ThreadPool::limit(), 0);
  }
}

TEST(HostOptionsTest, NumbersOutOfRangeAreInvalid) {
  const auto message = [](const SessionOptions& options) {
    const auto session = SessionMaker::Make(kRelu, options);
    EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(session.status().message());
  };
  EXPECT_EQ(message({.threads = -1}), "option threads: expected 0 to 65536, found -1");
  EXPECT_EQ(message({.device_ordinal = -1}), "option device_ordinal: expected 0 to 63, found -1");
}

TEST(HostOptionsTest, MemoryBelongsToTheDeviceOfTheOrdinal) {
  const Session session = SessionMaker::Make(kRelu, {}, OpenWithLimitEngine(2)).value();
  EXPECT_EQ(session.device_ref(), (DeviceRef{DeviceKind::kCuda, 2}));
  Tensor x = session.ToDevice(View(kX.data(), {2})).value();
  EXPECT_EQ(x.device(), session.device_ref());
  EXPECT_TRUE(session.Run({x.view()}).ok());
  TensorView other = x.view();
  other.device.ordinal = 0;
  Tensor y = session.ToDevice(View(kX.data(), {2})).value();
  const auto refused = session.Bind({other}, {y.view()});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(absl::StrContains(refused.error().message,
                                "expected memory of the host or of CUDA device 2, found memory of "
                                "CUDA device 0"))
      << refused.error().message;
}

}  // namespace
}  // namespace onnx_cudnn

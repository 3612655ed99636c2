#include "runtime/exec/cpu_device.h"

#include <cmath>
#include <functional>
#include <set>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

// Calls a function.
class CallStep final : public Step {
 public:
  explicit CallStep(std::function<absl::Status(const LaunchArgs&)> call) : call_(std::move(call)) {}
  absl::Status Launch(const LaunchArgs& args) const override { return call_(args); }
  std::string Save() const override { return ""; }

 private:
  std::function<absl::Status(const LaunchArgs&)> call_;
};

std::unique_ptr<StreamSet> Streams(int count, std::optional<uint64_t> seed, bool poison = false) {
  return *MakeCpuDevice({.interleave_seed = seed, .poison = poison})->CreateStreams(count);
}

// Steps 0 and 1 on stream 0, 2 and 3 on stream 1, where 3 waits for 0.
std::vector<int> OrderOf(uint64_t seed) {
  const auto streams = Streams(2, seed);
  std::vector<int> order;
  std::vector<CallStep> steps;
  for (int i = 0; i < 4; ++i) {
    steps.emplace_back([&order, i](const LaunchArgs&) {
      order.push_back(i);
      return absl::OkStatus();
    });
  }
  EXPECT_TRUE(streams->Launch(0, steps[0], {}, {}).ok());
  const int event = *streams->Record(0);
  EXPECT_TRUE(streams->Launch(0, steps[1], {}, {}).ok());
  EXPECT_TRUE(streams->Launch(1, steps[2], {}, {}).ok());
  EXPECT_TRUE(streams->Wait(1, event).ok());
  EXPECT_TRUE(streams->Launch(1, steps[3], {}, {}).ok());
  EXPECT_TRUE(order.empty());
  EXPECT_TRUE(streams->Synchronize().ok());
  return order;
}

TEST(InterleavedStreamsTest, RespectsOnlyQueuesAndWaits) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<int> order = OrderOf(seed);
    ASSERT_EQ(order.size(), 4u);
    auto at = [&](int step) { return std::find(order.begin(), order.end(), step) - order.begin(); };
    EXPECT_LT(at(0), at(1));
    EXPECT_LT(at(2), at(3));
    EXPECT_LT(at(0), at(3));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 5u);  // all that the rules leave
  EXPECT_EQ(OrderOf(3), OrderOf(3));
}

TEST(InterleavedStreamsTest, CopiesTheSpansOfALaunch) {
  const auto streams = Streams(1, 1);
  float x = 3, y = 0;
  const CallStep copy([](const LaunchArgs& args) {
    *static_cast<float*>(args.out[0]) = *static_cast<const float*>(args.in[0]);
    return absl::OkStatus();
  });
  {
    const std::vector<const void*> in = {&x};
    const std::vector<void*> out = {&y};
    ASSERT_TRUE(streams->Launch(0, copy, {.in = in, .out = out}, {}).ok());
  }
  ASSERT_TRUE(streams->Synchronize().ok());
  EXPECT_EQ(y, 3);
}

TEST(InterleavedStreamsTest, ReturnsTheFirstFailureAndForgetsIt) {
  const auto streams = Streams(1, 1);
  int later = 0;
  const CallStep fails([](const LaunchArgs&) { return absl::InvalidArgumentError("bad index"); });
  const CallStep counts([&](const LaunchArgs&) { return ++later, absl::OkStatus(); });
  ASSERT_TRUE(streams->Launch(0, fails, {}, {}).ok());
  ASSERT_TRUE(streams->Launch(0, counts, {}, {}).ok());
  EXPECT_EQ(streams->Synchronize().message(), "bad index");
  EXPECT_EQ(later, 0);
  EXPECT_TRUE(streams->Synchronize().ok());
  EXPECT_EQ(later, 0);
}

TEST(InterleavedStreamsTest, ReportsAWaitThatNeverEnds) {
  const auto streams = Streams(1, 1);
  EXPECT_FALSE(streams->Wait(0, 0).ok());  // was not recorded
  const auto two = Streams(2, 1);
  const int first = *two->Record(0);
  ASSERT_TRUE(two->Wait(1, first).ok());
  EXPECT_TRUE(two->Synchronize().ok());
}

TEST(CpuDeviceTest, PoisonsScratchJustBeforeTheStep) {
  for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(1)}) {
    const auto streams = Streams(1, seed, /*poison=*/true);
    std::vector<float> dead = {1, 2}, live = {3};
    bool was_nan = false;
    const CallStep looks([&](const LaunchArgs&) {
      was_nan = std::isnan(dead[0]) && std::isnan(dead[1]);
      return absl::OkStatus();
    });
    const absl::Span<std::byte> scratch(reinterpret_cast<std::byte*>(dead.data()), 8);
    ASSERT_TRUE(streams->Launch(0, looks, {}, {scratch}).ok());
    ASSERT_TRUE(streams->Synchronize().ok());
    EXPECT_TRUE(was_nan);
    EXPECT_EQ(live[0], 3);
  }
}

TEST(CpuDeviceTest, AllocatesAlignedMemory) {
  const auto device = MakeCpuDevice();
  for (int64_t bytes : {0, 1, 255, 1000}) {
    const auto memory = *device->Allocate(bytes, Space::kDevice);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 256, 0u);
  }
}

TEST(CpuDeviceTest, OutOfMemoryReportsTheRequest) {
  const absl::Status status = MakeCpuDevice()->Allocate(int64_t{1} << 60, Space::kHost).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("1152921504606846976 bytes asked"), std::string::npos) << status;
}

TEST(CpuDeviceTest, UploadsWithoutACopy) {
  const HostTensor tensor = HostTensor::Ints({1, 2, 3});
  EXPECT_EQ((*MakeCpuDevice()->Upload(tensor, Space::kDevice)).get(), tensor.raw());
}

}  // namespace
}  // namespace onnx_cudnn

// A Session over several devices.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "tests/exec/watched_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/forwarding_device.h"
#include "tests/support/hook_engine.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kRelu = "g (float[N] x) => (float[N] y) { y = Relu(x) }";

class LosableDevice final : public ForwardingDevice {
 public:
  explicit LosableDevice(const std::atomic<bool>& is_lost)
      : ForwardingDevice(MakeCpuDevice({.like_a_gpu = true})), is_lost_(is_lost) {}
  bool is_lost() const override { return is_lost_; }
  absl::Status CopyFromPeer(void* to, const void* from, int peer, int64_t bytes) override {
    peers.push_back(peer);
    return ForwardingDevice::CopyFromPeer(to, from, peer, bytes);
  }
  absl::Status MakeCurrent() override {
    ++made_current;
    return ForwardingDevice::MakeCurrent();
  }
  static inline std::vector<int> peers;  // of all copies, of all devices
  static inline std::atomic<int> made_current = 0;

 private:
  const std::atomic<bool>& is_lost_;
};

class DevicesTest : public testing::Test {
 protected:
  void SetUp() override { LosableDevice::peers.clear(); }
  Session Make(int count, const SessionOptions& options = {}, std::string_view text = kRelu) {
    std::vector<OpenedDevice> opened;
    for (int i = 0; i < count; ++i) {
      hooks_.emplace_back();
      lost_.emplace_back(false);
      opened.push_back({.device = std::make_unique<LosableDevice>(lost_.back()),
                        .target = HookTarget(hooks_.back()),
                        .ordinal = i});
    }
    return SessionMaker::Make(text, options, std::move(opened)).value();
  }
  // The device loses itself at its next launch.
  void LoseAtLaunch(int i) {
    hooks_[i].status = [this, i] {
      lost_[i] = true;
      return absl::FailedPreconditionError(absl::StrCat("device ", i, " fell off the bus"));
    };
  }
  static Result<std::vector<Tensor>> Run(const Session& session, float value = 5) {
    const std::vector<float> x = {value, -value};
    return session.Run({View(x.data(), {2})});
  }
  static void ExpectRight(const Session& session, float value = 5) {
    auto outputs = Run(session, value);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].data<float>()[0], value);
    EXPECT_EQ(outputs.value()[0].data<float>()[1], 0);
  }
  static std::vector<int64_t> RunsOf(const Session& session) {
    std::vector<int64_t> runs;
    for (const DeviceStats& device : session.stats().devices) runs.push_back(device.runs);
    return runs;
  }

  std::deque<Hooks> hooks_;
  std::deque<std::atomic<bool>> lost_;
};

using Counts = std::vector<int64_t>;

TEST_F(DevicesTest, RunsOneAfterTheOtherAreShared) {
  const Session session = Make(3);
  for (int run = 0; run < 7; ++run) ExpectRight(session, static_cast<float>(run + 1));
  EXPECT_EQ(RunsOf(session), Counts({3, 2, 2}));
  const SessionStats stats = session.stats();
  EXPECT_EQ(stats.programs_built, 3);
  EXPECT_EQ(stats.builds.size(), 3u);
  EXPECT_EQ(stats.devices[2].device, (DeviceRef{DeviceKind::kCuda, 2}));
  EXPECT_EQ(stats.devices[2].running, 0);
}

TEST_F(DevicesTest, TheLeastLoadedTakesTheNextRun) {
  constexpr int kDevices = 4;
  const Session session = Make(kDevices);
  for (int run = 0; run < kDevices; ++run) ExpectRight(session);  // each has a Program
  // Every device has one of four concurrent Runs: none passes before all are there.
  absl::Barrier* all = new absl::Barrier(kDevices);
  for (Hooks& hooks : hooks_) {
    hooks.launch = [all] {
      if (all->Block()) delete all;
    };
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < kDevices; ++i) {
    callers.emplace_back([&, i] { ExpectRight(session, static_cast<float>(i + 1)); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(RunsOf(session), Counts(kDevices, 2));
}

TEST_F(DevicesTest, ALostDeviceIsLeftOut) {
  const Session session = Make(3);
  for (int run = 0; run < 3; ++run) ExpectRight(session);
  LoseAtLaunch(1);
  ExpectRight(session);
  ExpectError(Run(session), ErrorCode::kFailedPrecondition, "device 1 fell off the bus");
  for (int run = 0; run < 5; ++run) ExpectRight(session);
  EXPECT_EQ(RunsOf(session), Counts({4, 2, 4}));
  EXPECT_TRUE(session.stats().devices[1].is_lost);
  EXPECT_FALSE(session.stats().devices[0].is_lost);
}

TEST_F(DevicesTest, ARunOfALostDeviceRunsAgainWhereAskedFor) {
  const Session session = Make(3, {.rerun_if_lost = true});
  LoseAtLaunch(0);
  LoseAtLaunch(1);
  ExpectRight(session);
  EXPECT_EQ(RunsOf(session), Counts({1, 1, 1}));
  ExpectRight(session);
  EXPECT_EQ(RunsOf(session), Counts({1, 1, 2}));
  // An error of another kind is the caller's.
  hooks_[2].status = [] { return absl::InternalError("a kernel failed"); };
  ExpectError(Run(session), ErrorCode::kInternal, "a kernel failed");
  LoseAtLaunch(2);
  ExpectError(Run(session), ErrorCode::kFailedPrecondition,
              "all 3 devices of the session are lost");
}

TEST_F(DevicesTest, ARunGoesWhereItsArgumentsLie) {
  const Session session = Make(3);
  const std::vector<float> x = {3, -3};
  const auto on = [&](int ordinal) {
    return session.ToDevice(View(x.data(), {2}), {DeviceKind::kCuda, ordinal}).value();
  };
  for (const int ordinal : {2, 2, 1}) {
    const Tensor tensor = on(ordinal);
    EXPECT_EQ(tensor.device().ordinal, ordinal);
    auto outputs = session.Run({tensor.view()});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].data<float>()[0], 3);
    EXPECT_EQ(session.ToHost(tensor).value().data<float>()[1], -3);
  }
  EXPECT_EQ(RunsOf(session), Counts({0, 1, 2}));
  const Tensor second = on(1), output = on(1), third = on(2);
  ASSERT_TRUE(session.Run({second.view()}, {output.view()}).ok());
  ASSERT_TRUE(session.Bind({second.view()}, {output.view()}).value().Run().ok());
  ExpectError(session.Run({second.view()}, {third.view()}), ErrorCode::kInvalidArgument,
              "CUDA device 2");
  ExpectError(session.ToDevice(View(x.data(), {2}), {DeviceKind::kCuda, 3}),
              ErrorCode::kInvalidArgument, "the session does not use CUDA device 3");
  lost_[2] = true;
  ExpectError(session.Run({third.view()}), ErrorCode::kFailedPrecondition,
              "CUDA device 2, where the inputs or outputs are, is lost");
}

// The first argument in a GPU's memory that the Session uses says where.
TEST_F(DevicesTest, InputsOnOtherDevicesAreCopied) {
  const Session session =
      Make(3, {}, "g (float[N] a, float[N] b) => (float[N] y) { y = Add(a, b) }");
  const std::vector<float> x = {3, -3};
  const Tensor a = session.ToDevice(View(x.data(), {2}), {DeviceKind::kCuda, 2}).value();
  const Tensor b = session.ToDevice(View(x.data(), {2}), {DeviceKind::kCuda, 1}).value();
  std::vector<float> y(2);
  ASSERT_TRUE(session.Run({a.view(), b.view()}, {View(y.data(), {2})}).ok());
  EXPECT_EQ(y, std::vector<float>({6, -6}));
  EXPECT_EQ(LosableDevice::peers, std::vector<int>({1}));
  TensorView of_no_session = a.view();
  of_no_session.device.ordinal = 7;
  auto outputs = session.Run({of_no_session, b.view()});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(outputs.value()[0].data<float>()[0], 6);
  EXPECT_EQ(LosableDevice::peers, std::vector<int>({1, 7}));
  EXPECT_EQ(RunsOf(session), Counts({0, 1, 1}));
  int stream = 0;
  ExpectError(session.Run({a.view(), b.view()}, RunOptions{.stream = &stream}),
              ErrorCode::kInvalidArgument, "input 1 is in memory of CUDA device 1 and is copied");
  ExpectError(session.Bind({a.view(), b.view()}, {a.view()}), ErrorCode::kInvalidArgument,
              "found memory of CUDA device 1");
}

TEST_F(DevicesTest, ValuesOnOtherDevicesAreCopied) {
  const Session session =
      Make(3, {}, "g (float[N] a, float[N] b) => (float[N] y) { y = Add(a, b) }");
  const std::vector<float> x = {3, -3};
  const Tensor a = session.ToDevice(View(x.data(), {2}), {DeviceKind::kCuda, 2}).value();
  const Tensor b = session.ToDevice(View(x.data(), {2}), {DeviceKind::kCuda, 1}).value();
  auto outputs = session.RunValues({a, b});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(outputs.value()[0].tensor().data<float>()[0], 6);
  EXPECT_EQ(LosableDevice::peers, std::vector<int>({1}));
  EXPECT_EQ(RunsOf(session), Counts({0, 0, 1}));
  int stream = 0;
  ExpectError(session.RunValues({a, b}, RunOptions{.stream = &stream}), ErrorCode::kInvalidArgument,
              "input 1 is in memory of CUDA device 1 and is copied");
}

TEST_F(DevicesTest, ARunMakesItsDeviceCurrentOnce) {
  const Session session = Make(1);
  const std::vector<float> x = {3, -3};
  ExpectRight(session);  // has built the Program
  LosableDevice::made_current = 0;
  ExpectRight(session);
  EXPECT_EQ(LosableDevice::made_current, 1);
  ASSERT_TRUE(session.Profile({View(x.data(), {2})}).ok());
  EXPECT_EQ(LosableDevice::made_current, 2);
}

// The first launch on a device waits for that on the other one.
TEST_F(DevicesTest, AWarmUpWorksOnAllDevicesAtTheSameTime) {
  const Session session = Make(2);
  absl::Barrier* both = new absl::Barrier(2);
  for (Hooks& hooks : hooks_) {
    hooks.launch = [both, has_launched = false]() mutable {
      if (!std::exchange(has_launched, true) && both->Block()) delete both;
    };
  }
  const std::vector<float> x = {3, -3};
  EXPECT_TRUE(session.WarmUp({View(x.data(), {2})}, 2).ok());
  EXPECT_EQ(session.stats().graph_captures, 2);
}

TEST_F(DevicesTest, AWarmUpOfOneDeviceThatFailsFails) {
  const Session session = Make(2);
  hooks_[1].status = [] { return absl::InternalError("a kernel failed"); };
  const std::vector<float> x = {3, -3};
  ExpectError(session.WarmUp({View(x.data(), {2})}, 2), ErrorCode::kInternal, "a kernel failed");
}

TEST(WarmUpTest, CapturesAlthoughOtherThreadsCompile) {
  const Hooks hooks;
  auto device = std::make_unique<WatchedDevice>(MakeCpuDevice({.like_a_gpu = true}));
  device->is_busy = true;
  OpenedDevice opened{.device = std::move(device), .target = HookTarget(hooks)};
  const Session session = SessionMaker::Make(kRelu, {}, std::move(opened)).value();
  const std::vector<float> x = {3, -3};
  ASSERT_TRUE(session.WarmUp({View(x.data(), {2})}).ok());
  EXPECT_EQ(session.stats().graph_captures, 1);
}

TEST_F(DevicesTest, AWarmUpIsOfEveryDevice) {
  const Session session = Make(3);
  const std::vector<float> x = {3, -3};
  lost_[2] = true;
  ASSERT_TRUE(session.WarmUp({View(x.data(), {2})}, /*runs_at_once=*/4).ok());
  EXPECT_EQ(session.stats().programs_built, 2);
  EXPECT_EQ(session.stats().graph_captures, 2 * 2);
  EXPECT_EQ(RunsOf(session), Counts({0, 0, 0}));
  for (int run = 0; run < 4; ++run) ExpectRight(session);
  ASSERT_TRUE(session.WarmUp({View(x.data(), {2})}, 4).ok());
  EXPECT_EQ(session.stats().graph_captures, 2 * 2);
  ExpectError(session.WarmUp({View(x.data(), {2})}, 0), ErrorCode::kInvalidArgument,
              "expected 1 run at once or more, found 0");
  for (int i = 0; i < 3; ++i) lost_[i] = true;
  ExpectError(session.WarmUp({View(x.data(), {2})}), ErrorCode::kFailedPrecondition,
              "all 3 devices of the session are lost");
}

// Otherwise a caller who asks before each Run would run on every other device alone.
TEST_F(DevicesTest, AskingForOutputsIsNoRun) {
  const Session session = Make(2);
  const std::vector<float> x = {3, -3};
  for (int run = 0; run < 4; ++run) {
    ASSERT_TRUE(session.OutputsFor({View(x.data(), {2})}).ok());
    ExpectRight(session);
  }
  EXPECT_EQ(RunsOf(session), Counts({2, 2}));
  EXPECT_EQ(session.stats().programs_built, 2);
}

TEST_F(DevicesTest, AStreamNeedsArgumentsThatTellItsDevice) {
  const Session session = Make(2);
  const std::vector<float> x = {3, -3};
  int stream = 0;
  ExpectError(session.Run({View(x.data(), {2})}, RunOptions{.stream = &stream}),
              ErrorCode::kInvalidArgument, "of several GPUs");
}

TEST(DevicesOptionsTest, WhatIsNoListOfGpusIsRefused) {
  const std::string model = *ModelBytesFromText(kRelu);
  const auto expect = [&](SessionOptions options, std::string_view text) {
    ExpectError(Session::LoadBytes(model, options), ErrorCode::kInvalidArgument, text);
  };
  expect({.devices = {0, 1, 0}}, "option devices: 0 repeats");
  expect({.devices = {64}}, "option devices: expected 0 to 63, or -1 alone for all, found 64");
  expect({.devices = {kAllDevices, 0}}, "option devices: expected 0 to 63");
  expect({.device = DeviceChoice::kCpu, .devices = {0}}, "expected none for the CPU device");
  expect({.devices = {0}, .target = "h200"}, "expected none for the CPU device");
  expect({.devices = {0, 1}, .arena = std::make_shared<SharedArena>(1 << 20)},
         "a shared arena lies on one device");
}

}  // namespace
}  // namespace onnx_cudnn

#include <cstring>
#include <stdexcept>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/run_times.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/probe.h"
#include "tests/cuda/scenario.h"

namespace onnx_cudnn {
namespace {

class StreamsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenCudaDevice();
    streams_ = *device_->CreateStreams(2);
  }

  FakeCuda cuda_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<StreamSet> streams_;
};

// Returns the status that it was made with; throws if that is ok.
class HostStep final : public Step {
 public:
  explicit HostStep(absl::Status answer) : answer_(std::move(answer)) {}
  absl::Status Launch(const LaunchArgs&) const override {
    ++runs;
    if (answer_.ok()) throw std::runtime_error("thrown");
    return answer_;
  }
  std::string Save() const override { return ""; }
  mutable int runs = 0;

 private:
  const absl::Status answer_;
};

// Launches a kernel on the stream that it is given.
class LaunchStep final : public Step {
 public:
  LaunchStep(const KernelLaunch& launch, void** arguments)
      : launch_(launch), arguments_(arguments) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    return LaunchKernel(launch_, arguments_, args.stream);
  }
  std::string Save() const override { return ""; }

 private:
  const KernelLaunch& launch_;
  void** const arguments_;
};

TEST_F(StreamsTest, TheFirstFailureOnTheHostIsKeptUntilSynchronize) {
  const HostStep first(absl::InvalidArgumentError("first")), second(absl::InternalError("second"));
  EXPECT_TRUE(streams_->LaunchOnHost(0, first, {}, {}).ok());
  EXPECT_TRUE(streams_->LaunchOnHost(1, second, {}, {}).ok());
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(streams_->Synchronize().message(), "first");
  EXPECT_TRUE(streams_->Synchronize().ok());
}

TEST_F(StreamsTest, AHostStepThatThrowsIsAFailure) {
  const HostStep throws(absl::OkStatus());
  EXPECT_TRUE(streams_->LaunchOnHost(0, throws, {}, {}).ok());
  EXPECT_EQ(streams_->Synchronize().message(), "unexpected exception: thrown");
}

TEST_F(StreamsTest, AReplayedHostStepFailsEveryTime) {
  const HostStep step(absl::InvalidArgumentError("again"));
  ASSERT_TRUE(streams_->BeginCapture().ok());
  EXPECT_TRUE(streams_->LaunchOnHost(1, step, {}, {}).ok());
  const auto graph = streams_->EndCapture();
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(streams_->Replay(**graph).ok());
    EXPECT_EQ(streams_->Synchronize().message(), "again");
  }
  EXPECT_EQ(step.runs, 2);
}

TEST_F(StreamsTest, ABarrierIsALaunchThatStartsWhenTheOneBeforeIsOver) {
  EXPECT_TRUE(streams_->Barrier(1).ok());
  EXPECT_EQ(cuda_.launches(), 1);
  EXPECT_EQ(cuda_.last_launch().numAttrs, 0u);
}

// Two planes of two rows of two bytes: planes [3, 3] to planes [2, 4].
TEST_F(StreamsTest, ABoxIsCopiedByOneCall) {
  const auto from = *device_->Allocate(18, Space::kDevice);
  const auto to = *device_->Allocate(16, Space::kDevice);
  for (int i = 0; i < 18; ++i) from.get()[i] = static_cast<std::byte>(i + 1);
  const BoxCopy box = {.to = to.get(),
                       .from = from.get(),
                       .row_bytes = 2,
                       .rows = 2,
                       .planes = 2,
                       .to_row_bytes = 4,
                       .from_row_bytes = 3,
                       .to_plane_rows = 2,
                       .from_plane_rows = 3};
  const int before = cuda_.calls();
  EXPECT_TRUE(streams_->Clear(0, to.get(), 16).ok());
  EXPECT_TRUE(streams_->CopyBox(0, box).ok());
  EXPECT_EQ(cuda_.calls(), before + 2);
  EXPECT_TRUE(streams_->Synchronize().ok());
  const uint8_t expected[] = {1, 2, 0, 0, 4, 5, 0, 0, 10, 11, 0, 0, 13, 14, 0, 0};
  EXPECT_EQ(std::memcmp(to.get(), expected, sizeof(expected)), 0);
}

TEST_F(StreamsTest, EventsAreUsedAgain) {
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(*streams_->Record(0), 0);
    EXPECT_EQ(*streams_->Record(1), 1);
    EXPECT_TRUE(streams_->Synchronize().ok());
  }
  EXPECT_EQ(streams_->Wait(0, 0).message(), "wait for event 0, 0 were recorded");
}

TEST_F(StreamsTest, WhatACaptureDoesNotTakeIsUnimplemented) {
  ASSERT_TRUE(streams_->BeginCapture().ok());
  EXPECT_EQ(streams_->Synchronize().code(), absl::StatusCode::kUnimplemented);
  const auto graph = streams_->EndCapture();
  EXPECT_EQ(graph.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(graph.status().message().find("StreamCapture"), std::string::npos);
  EXPECT_TRUE(streams_->Synchronize().ok());
}

TEST_F(StreamsTest, ACaptureHoldsItsMutex) {
  ASSERT_TRUE(streams_->BeginCapture().ok());
  EXPECT_FALSE(CaptureMutex().try_lock_shared());
  EXPECT_TRUE(streams_->EndCapture().ok());
  EXPECT_TRUE(CaptureMutex().try_lock_shared());
  CaptureMutex().unlock_shared();
}

TEST_F(StreamsTest, NoCaptureBeginsAtOnceWhileAnotherThreadAllocatesOrCompiles) {
  EXPECT_TRUE(streams_->CanCaptureNow());
  CaptureMutex().lock_shared();
  EXPECT_FALSE(streams_->CanCaptureNow());
  EXPECT_EQ(streams_->BeginCaptureAtOnce().code(), absl::StatusCode::kUnavailable);
  CaptureMutex().unlock_shared();
  EXPECT_TRUE(streams_->CanCaptureNow());
  ASSERT_TRUE(streams_->BeginCaptureAtOnce().ok());
  EXPECT_FALSE(CaptureMutex().try_lock_shared());
  EXPECT_TRUE(streams_->EndCapture().ok());
}

TEST_F(StreamsTest, WaitingForACaptureCountsAsWaitingForALock) {
  absl::Notification locked;
  std::thread captures([&] {
    CaptureMutex().lock();
    locked.Notify();
    absl::SleepFor(absl::Milliseconds(50));
    CaptureMutex().unlock();
  });
  locked.WaitForNotification();
  RunTimes times;
  {
    CollectRunTimes(&times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    EXPECT_TRUE(device_->Allocate(1, Space::kDevice).ok());
  }
  captures.join();
  EXPECT_GT(times[RunPhase::kLock], 1);
}

TEST_F(StreamsTest, PinnedMemoryIsAPhaseOfItsOwn) {
  RunTimes times;
  {
    CollectRunTimes(&times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    EXPECT_TRUE(device_->Allocate(1, Space::kHost).ok());
  }
  EXPECT_GT(times[RunPhase::kPin], 0);
  EXPECT_EQ(times[RunPhase::kAllocate], 0);
}

TEST_F(StreamsTest, LoadingAKernelIsAPhaseOfItsOwn) {
  RunTimes times;
  {
    CollectRunTimes(&times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    EXPECT_TRUE(PrepareKernel({.function = ProbeKernel()}).ok());
  }
  EXPECT_GT(times[RunPhase::kLoad], 0);
}

TEST_F(StreamsTest, MarksWithinACaptureAreTimedByEachReplay) {
  Increment nothing{};
  const void* data = &nothing;
  void* arguments[] = {&data};
  const KernelLaunch launch{.function = reinterpret_cast<const void*>(RunIncrement)};
  const auto enqueue = [&] {
    ASSERT_TRUE(streams_->Mark(1, 3).ok());
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(streams_->Launch(1, LaunchStep(launch, arguments), {}, {}).ok());
    }
    ASSERT_TRUE(streams_->Mark(1, 0).ok());
  };
  enqueue();
  ASSERT_TRUE(streams_->Synchronize().ok());
  EXPECT_EQ(*streams_->MsBetween(3, 0), 0.5);  // the fake's time outside graphs
  ASSERT_TRUE(streams_->BeginCapture().ok());
  enqueue();
  const auto graph = streams_->EndCapture();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(*streams_->MsBetween(3, 0), 0.5);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(streams_->Replay(**graph).ok());
    ASSERT_TRUE(streams_->Synchronize().ok());
    EXPECT_EQ(*streams_->MsBetween(3, 0), 2);  // a millisecond for each launch
    EXPECT_EQ(*streams_->MsBetween(0, 3), -2);
  }
  for (const int never : {1, 4}) {
    EXPECT_EQ(streams_->MsBetween(3, never).status().code(), absl::StatusCode::kInternal);
  }
}

TEST_F(StreamsTest, TheDestructorEndsAnOpenCapture) {
  ASSERT_TRUE(streams_->BeginCapture().ok());
  streams_.reset();
  EXPECT_TRUE(device_->Allocate(1, Space::kDevice).ok());
}

TEST_F(StreamsTest, LaunchesCarryTheirAttributes) {
  Increment nothing{};
  const void* data = &nothing;
  void* arguments[] = {&data};
  KernelLaunch launch{.function = reinterpret_cast<const void*>(RunIncrement),
                      .grid = {.x = 7, .y = 2},
                      .block = {.x = 128},
                      .shared_bytes = 4096,
                      .cluster = 4,
                      .uses_pdl = true};
  FakeCuda& cuda = cuda_;
  cudaStream_t stream = static_cast<cudaStream_t>(cuda.callers_stream());
  ASSERT_TRUE(LaunchKernel(launch, arguments, {.native = stream}).ok());
  EXPECT_EQ(cuda.last_launch().gridDim.x, 7u);
  EXPECT_EQ(cuda.last_launch().gridDim.y, 2u);
  EXPECT_EQ(cuda.last_launch().blockDim.x, 128u);
  EXPECT_EQ(cuda.last_launch().dynamicSmemBytes, 4096u);
  EXPECT_EQ(cuda.last_launch().numAttrs, 3u);
  EXPECT_EQ(cuda.last_attribute(0).id, cudaLaunchAttributeClusterDimension);
  EXPECT_EQ(cuda.last_attribute(0).val.clusterDim.x, 4u);
  EXPECT_EQ(cuda.last_attribute(1).id, cudaLaunchAttributeProgrammaticStreamSerialization);
  EXPECT_EQ(cuda.last_attribute(2).id, cudaLaunchAttributePreferredSharedMemoryCarveout);
  EXPECT_EQ(cuda.last_attribute(2).val.sharedMemCarveout, 100u);
  launch.grid.x = 0;
  ASSERT_TRUE(LaunchKernel(launch, arguments, {.native = stream}).ok());
  EXPECT_EQ(cuda.launches(), 1);
}

TEST_F(StreamsTest, OnlyOverlappingLaunchesThatNeedNoL1PreferSharedMemory) {
  const auto prefers_shared = [&](KernelLaunch launch) {
    Increment nothing{};
    const void* data = &nothing;
    void* arguments[] = {&data};
    launch.function = reinterpret_cast<const void*>(RunIncrement);
    EXPECT_TRUE(LaunchKernel(launch, arguments, {.native = cuda_.callers_stream()}).ok());
    const unsigned count = cuda_.last_launch().numAttrs;
    return count > 0 && cuda_.last_attribute(static_cast<int>(count) - 1).id ==
                            cudaLaunchAttributePreferredSharedMemoryCarveout;
  };
  // Up to four blocks per multiprocessor count as few.
  for (const int multiprocessors : {132, 20}) {
    cuda_.SetMultiprocessors(multiprocessors);
    const auto most = static_cast<unsigned>(multiprocessors) / 2;
    EXPECT_TRUE(prefers_shared({.grid = {.x = most, .y = 8}, .uses_pdl = true}));
    EXPECT_FALSE(prefers_shared({.grid = {.x = most + 1, .y = 8}, .uses_pdl = true}));
    EXPECT_TRUE(
        prefers_shared({.grid = {.x = most + 1, .y = 8}, .shared_bytes = 16, .uses_pdl = true}));
  }
  EXPECT_FALSE(prefers_shared({.grid = {.x = 1}, .shared_bytes = 16}));
}

TEST_F(StreamsTest, ASmallerLaunchTakesNoSharedMemoryFromALargerOne) {
  static const int function = 0;  // of this test alone
  KernelLaunch launch{.function = &function, .shared_bytes = 200'000};
  ASSERT_TRUE(PrepareKernel(launch).ok());
  launch.shared_bytes = 100'000;
  ASSERT_TRUE(PrepareKernel(launch).ok());
  EXPECT_EQ(cuda_.shared_bytes_allowed(), 200'000);
}

// Of one test alone.
void RunWide(void* argument) { RunIncrement(argument); }

// A Program is compiled on one device and launched on each.
TEST(LaunchTest, EachDeviceAllowsTheSharedMemoryOfALaunch) {
  FakeCuda cuda({.devices = 2});
  KernelLaunch launch{.function = reinterpret_cast<const void*>(RunWide), .shared_bytes = 150'000};
  ASSERT_TRUE(PrepareKernel(launch).ok());
  Increment nothing{};
  const void* data = &nothing;
  void* arguments[] = {&data};
  for (const int ordinal : {0, 1}) {
    ASSERT_EQ(Cuda().cudaSetDevice(ordinal), cudaSuccess);
    EXPECT_TRUE(LaunchKernel(launch, arguments, {.native = cuda.callers_stream()}).ok()) << ordinal;
  }
  EXPECT_EQ(Cuda().cudaSetDevice(0), cudaSuccess);
}

TEST(PeerTest, CopiesGoFromGpuToGpuWhereTheyCan) {
  for (const bool has_peers : {true, false}) {
    FakeCuda cuda({.devices = 2, .has_peers = has_peers});
    const std::unique_ptr<Device> first = *OpenCudaDevice(0), second = *OpenCudaDevice(1);
    ASSERT_TRUE(second->MakeCurrent().ok());
    const auto from = *second->Allocate(8, Space::kDevice);
    ASSERT_TRUE(first->MakeCurrent().ok());
    const auto to = *first->Allocate(8, Space::kDevice);
    EXPECT_FALSE(first->ReadsDirectly(from.get()).ok());
    std::memcpy(from.get(), "to copy", 8);
    ASSERT_TRUE(first->CopyFromPeer(to.get(), from.get(), 1, 8).ok());
    EXPECT_EQ(std::memcmp(to.get(), "to copy", 8), 0);
    const int before = cuda.calls();
    ASSERT_TRUE(first->CopyFromPeer(to.get(), from.get(), 1, 8).ok());
    EXPECT_EQ(cuda.calls(), before + 2);  // the copy, and waiting for it
    EXPECT_EQ(cuda.direct_copies(), has_peers ? 2 : 0);
    EXPECT_EQ(cuda.staged_copies(), has_peers ? 0 : 2);
  }
}

TEST(PeerTest, MemoryOfAGpuThatDoesNotExistIsAWrongArgument) {
  const FakeCuda cuda({.devices = 2});
  const std::unique_ptr<Device> device = *OpenCudaDevice(0);
  const auto to = *device->Allocate(8, Space::kDevice);
  for (const int peer : {-1, 2}) {
    const absl::Status status = device->CopyFromPeer(to.get(), to.get(), peer, 8);
    EXPECT_EQ(status, absl::InvalidArgumentError(absl::StrCat("found memory of CUDA device ", peer,
                                                              ", this process has 2")));
  }
}

}  // namespace
}  // namespace onnx_cudnn

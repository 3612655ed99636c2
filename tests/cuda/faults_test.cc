#include "gtest/gtest.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_status.h"
#include "tests/cuda/scenario.h"
#include "tests/support/failing_fake.h"

namespace onnx_cudnn {
namespace {

// A failing release is not reported to the caller.
bool IsRelease(const std::string& call) {
  return call.starts_with("cudaFree") || call.ends_with("Destroy");
}

TEST(CudaFaultsTest, TheScenarioMakesEveryCallAndKeepsNothing) {
  FakeCuda cuda;
  EXPECT_TRUE(RunScenario(cuda).ok());
  EXPECT_EQ(cuda.held(), 0);
}

TEST(CudaFaultsTest, EachCallThatFailsOnceIsReportedAndLeaksNothing) {
  const auto scenario = [](FakeCuda& cuda) {
    const absl::Status status = RunScenario(cuda);
    EXPECT_FALSE(DeviceIsLost());
    return status;
  };
  // All calls but those that only return details of an error.
  EXPECT_EQ(FailEachCall<FakeCuda>(scenario, IsRelease), 34u);
}

TEST(CudaFaultsTest, ALostDeviceIsReportedAndGetsNoMoreCalls) {
  for (int at = 0;; ++at) {
    FakeCuda cuda({.fail_at = at, .error = cudaErrorIllegalAddress});
    const absl::Status status = RunScenario(cuda);
    if (cuda.failed_call().empty()) break;
    SCOPED_TRACE(cuda.failed_call());
    if (IsRelease(cuda.failed_call()) && status.ok()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    const bool opens = cuda.failed_call() == "cudaDriverGetVersion";  // there is no driver then
    EXPECT_TRUE(opens || DeviceIsLost());
    EXPECT_TRUE(opens || status.message().find("the device is lost") != std::string::npos)
        << status;
  }
}

// What is released on a thread whose current GPU is another one.
TEST(CudaFaultsTest, ALostDeviceTakesNoOtherOneWithIt) {
  FakeCuda cuda({.devices = 2});
  const std::unique_ptr<Device> healthy = *OpenCudaDevice(0), lost = *OpenCudaDevice(1);
  ASSERT_TRUE(lost->MakeCurrent().ok());
  std::unique_ptr<StreamSet> streams = *lost->CreateStreams(2);
  ASSERT_TRUE(healthy->MakeCurrent().ok());
  std::shared_ptr<std::byte> memory = *healthy->Allocate(100, Space::kDevice);
  cuda.LoseDevice(1);
  ASSERT_TRUE(healthy->Allocate(100, Space::kDevice).ok());
  EXPECT_FALSE(lost->MakeCurrent().ok());
  EXPECT_FALSE(lost->Allocate(100, Space::kDevice).ok());
  EXPECT_TRUE(lost->is_lost());
  const int64_t held = cuda.held_bytes();
  memory.reset();
  EXPECT_LT(cuda.held_bytes(), held);
  EXPECT_FALSE(healthy->is_lost());
  ASSERT_TRUE(healthy->MakeCurrent().ok());
  streams.reset();
  EXPECT_FALSE(healthy->is_lost());
  EXPECT_TRUE(healthy->Allocate(100, Space::kDevice).ok());
}

TEST(CudaFaultsTest, OutOfMemoryReportsRequestedAndFreeBytes) {
  FakeCuda cuda({.memory_bytes = 1000});
  const absl::Status status = RunScenario(cuda);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "device memory: 400 bytes asked, on the device 488 free");
  EXPECT_EQ(cuda.held(), 0);
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/cuda/cuda_context.h"

#include <cstdlib>

#include "gtest/gtest.h"
#include "runtime/base/log.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_status.h"
#include "tests/cuda/fake_cuda.h"

namespace onnx_cudnn {
namespace {

std::string ErrorOf(const FakeCudaOptions& options) {
  FakeCuda cuda(options);
  const absl::StatusOr<CudaFacts> facts = OpenCudaContext();
  EXPECT_EQ(facts.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(facts.status().message());
}

TEST(CudaContextTest, OneLineReportsVersionsFoundAndRequired) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(ErrorOf({.driver = 0}),
            "no usable GPU: found no NVIDIA driver, needs one for CUDA 13.0 or later: install "
            "NVIDIA's newest driver");
  EXPECT_EQ(
      ErrorOf({.driver = 12040}),
      "no usable GPU: found a driver for CUDA 12.4, needs one for CUDA 13.0 or later: install "
      "NVIDIA's newest driver");
  EXPECT_EQ(ErrorOf({.devices = 0}),
            "no usable GPU: found a driver and no device, needs an NVIDIA GPU: make one visible to "
            "this process");
  setenv("CUDA_VISIBLE_DEVICES", "7", /*overwrite=*/1);
  EXPECT_EQ(ErrorOf({.devices = 0}),
            "no usable GPU: found no device with CUDA_VISIBLE_DEVICES=\"7\", needs an NVIDIA GPU: "
            "make one visible to this process");
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(
      ErrorOf({.compute_capability = 75}),
      "no usable GPU: found NVIDIA Fake (sm_75), needs sm_80 or later: use an Ampere GPU or a "
      "later one");
  EXPECT_NE(ErrorOf({.has_code = false})
                .find("found NVIDIA Fake (sm_90), needs one of the architectures "),
            std::string::npos);
}

TEST(CudaContextTest, AnOrdinalOutOfRangeReportsTheNumberOfDevices) {
  FakeCuda cuda({.devices = 2});
  EXPECT_TRUE(OpenCudaContext(1).ok());
  const absl::Status status = OpenCudaContext(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "no usable GPU: found 2 devices, needs one with the ordinal 2: choose an ordinal below "
            "2");
}

TEST(CudaContextTest, ADeviceIsMadeCurrentByItsOrdinal) {
  FakeCuda cuda({.devices = 2});
  const auto device = OpenCudaDevice(1);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto current = [] {
    int ordinal = -1;
    EXPECT_EQ(Cuda().cudaGetDevice(&ordinal), cudaSuccess);
    return ordinal;
  };
  ASSERT_EQ(Cuda().cudaSetDevice(0), cudaSuccess);
  ASSERT_TRUE((*device)->MakeCurrent().ok());
  EXPECT_EQ(current(), 1);
  const char own = 0, other = 0;
  cuda.SetPointer(&own, cudaMemoryTypeDevice, 1);
  cuda.SetPointer(&other, cudaMemoryTypeDevice, 0);
  EXPECT_TRUE(*(*device)->ReadsDirectly(&own));
  EXPECT_EQ((*device)->ReadsDirectly(&other).status().message(),
            "expected memory of CUDA device 1 or of the host, found memory of device 0");
}

TEST(CudaContextTest, AFailedReleaseIsLogged) {
  std::string logged;
  SetLogSink([&](LogSeverity severity, std::string_view message) {
    EXPECT_EQ(severity, LogSeverity::kError);
    logged = message;
  });
  LogIfFailed(absl::OkStatus());
  EXPECT_EQ(logged, "");
  LogIfFailed(absl::InternalError("cudaFree: no"));
  SetLogSink(nullptr);
  EXPECT_EQ(logged, "cudaFree: no");
}

TEST(CudaContextTest, ADriverOfTheSameMajorVersionIsTaken) {
  FakeCuda cuda({.driver = 13000, .runtime = 13050});
  EXPECT_TRUE(OpenCudaContext().ok());
}

TEST(CudaContextTest, TheDeviceDescribesItself) {
  FakeCuda cuda;
  const auto device = OpenCudaDevice();
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "cuda");
  EXPECT_EQ((*device)->info().name, "nvidia fake");
  EXPECT_EQ((*device)->info().compute_capability, 90);
  EXPECT_EQ((*device)->versions().cuda, "13.0");
  EXPECT_FALSE((*device)->reads_host_memory());
}

TEST(CudaContextTest, CallersMemoryIsReadWhereItIsTheDevices) {
  FakeCuda cuda;
  const auto device = OpenCudaDevice();
  ASSERT_TRUE(device.ok()) << device.status();
  const auto own = (*device)->Allocate(1, Space::kDevice);
  const auto pinned = (*device)->Allocate(1, Space::kHost);
  const char host = 0, managed = 0, other = 0;
  cuda.SetPointer(&managed, cudaMemoryTypeManaged, 0);
  cuda.SetPointer(&other, cudaMemoryTypeDevice, 1);
  EXPECT_TRUE(*(*device)->ReadsDirectly(own->get()));
  EXPECT_FALSE(*(*device)->ReadsDirectly(pinned->get()));
  EXPECT_FALSE(*(*device)->ReadsDirectly(&host));
  EXPECT_TRUE(*(*device)->ReadsDirectly(&managed));
  EXPECT_EQ((*device)->ReadsDirectly(&other).status().message(),
            "expected memory of CUDA device 0 or of the host, found memory of device 1");
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/cuda/cuda_context.h"

#include <fcntl.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/base/calls.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/current_device.h"
#include "runtime/cuda/probe.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

// Except for wgmma, the kernels need features of sm_80 only: asynchronous copies, bf16 and TF32
// products.

constexpr const char kDriverFile[] = "/proc/driver/nvidia/version";

absl::Status Unusable(std::string_view found, std::string_view needed, std::string_view remedy) {
  return absl::FailedPreconditionError(
      absl::StrCat("no usable GPU: found ", found, ", needs ", needed, ": ", remedy));
}

// The first word that is a version in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64
// 580.65.06  Release Build …". Containers may hide the file.
std::string DriverVersion() {
  // The system reports size 0, so ReadFile cannot read it as a regular file.
  const Descriptor file(Files().open(kDriverFile, O_RDONLY | O_CLOEXEC, 0));
  std::array<char, 512> bytes;
  const ssize_t size =
      file.get() < 0 ? 0 : Files().pread(file.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return "";
  const std::string_view text(bytes.data(), static_cast<size_t>(size));
  for (const std::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \n"))) {
    const bool starts = !word.empty() && absl::ascii_isdigit(static_cast<unsigned char>(word[0]));
    if (starts && word.find('.') != std::string_view::npos) return std::string(word);
  }
  return "";
}

absl::Status CheckDriver(CudaFacts& facts) {
  RETURN_IF_ERROR(CUDA_STATUS(cudaRuntimeGetVersion, &facts.runtime_cuda));
  // Returns 0 without a driver.
  const cudaError_t error = Cuda().cudaDriverGetVersion(&facts.driver_cuda);
  const int needed_major = facts.runtime_cuda / 1000;
  const std::string needed = absl::StrCat("one for CUDA ", needed_major, ".0 or later");
  const std::string remedy = "install NVIDIA's newest driver";
  if (error != cudaSuccess || facts.driver_cuda == 0) {
    Cuda().cudaGetLastError();
    return Unusable("no NVIDIA driver", needed, remedy);
  }
  if (facts.driver_cuda / 1000 >= needed_major) return absl::OkStatus();
  return Unusable(absl::StrCat("a driver for CUDA ", CudaVersionText(facts.driver_cuda)), needed,
                  remedy);
}

absl::Status CheckDeviceCount(int ordinal) {
  int count = 0;
  const cudaError_t error = Cuda().cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) {
    if (ordinal < count) return absl::OkStatus();
    return Unusable(absl::StrCat(count, count == 1 ? " device" : " devices"),
                    absl::StrCat("one with the ordinal ", ordinal),
                    absl::StrCat("choose an ordinal below ", count));
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    Cuda().cudaGetLastError();
    const std::string found =
        visible == nullptr ? "a driver and no device"
                           : absl::StrCat("no device with CUDA_VISIBLE_DEVICES=\"", visible, "\"");
    return Unusable(found, "an NVIDIA GPU", "make one visible to this process");
  }
  const absl::Status status = CudaStatus(error, "cudaGetDeviceCount");
  return Unusable(status.message(), "an NVIDIA GPU that answers",
                  "see whether nvidia-smi works on this host");
}

absl::StatusOr<int> Attribute(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  RETURN_IF_ERROR(CUDA_STATUS(cudaDeviceGetAttribute, &value, attribute, ordinal));
  return value;
}

absl::Status ReadProperties(CudaFacts& facts, int ordinal) {
  cudaDeviceProp properties = {};
  RETURN_IF_ERROR(CUDA_STATUS(cudaGetDeviceProperties, &properties, ordinal));
  facts.product = properties.name;
  facts.compute_capability = 10 * properties.major + properties.minor;
  facts.has_sm_90a_code = false;  // until CheckCode
  facts.multiprocessors = properties.multiProcessorCount;
  facts.shared_bytes_per_block = static_cast<int64_t>(properties.sharedMemPerBlockOptin);
  facts.l2_bytes = properties.l2CacheSize;
  facts.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  ASSIGN_OR_RETURN(const int clock_khz, Attribute(cudaDevAttrClockRate, ordinal));
  ASSIGN_OR_RETURN(const int memory_khz, Attribute(cudaDevAttrMemoryClockRate, ordinal));
  ASSIGN_OR_RETURN(facts.memory_bus_bits, Attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal));
  facts.clock_mhz = clock_khz / 1e3;
  facts.memory_clock_mhz = memory_khz / 1e3;
  facts.driver = DriverVersion();
  facts.pci_bus_id = absl::StrFormat("%08X:%02X:%02X.0", properties.pciDomainID,
                                     properties.pciBusID, properties.pciDeviceID);
  return absl::OkStatus();
}

// Whether this build's code runs on the device, and for which architecture it was compiled.
absl::Status CheckCode(CudaFacts& facts) {
  cudaFuncAttributes attributes = {};
  const cudaError_t error = Cuda().cudaFuncGetAttributes(&attributes, ProbeKernel());
  facts.code_capability = attributes.ptxVersion;
  facts.has_sm_90a_code = absl::StrContains(ONNX_CUDNN_CUDA_ARCHITECTURES, "90a");
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction) {
    return CudaStatus(error, "cudaFuncGetAttributes");
  }
  Cuda().cudaGetLastError();
  return Unusable(absl::StrCat(facts.product, " (sm_", facts.compute_capability, ")"),
                  "one of the architectures " ONNX_CUDNN_CUDA_ARCHITECTURES,
                  "build with the preset cuda");
}

// Warns once per process.
void WarnOfSlowKernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    Log(LogSeverity::kWarning,
        "the kernels of this build are not optimized: for speed, build with the preset cuda");
  });
}

}  // namespace

std::string CudaVersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

GpuList ListGpus() {
  GpuList list{.driver = DriverVersion()};
  CudaFacts driver;
  const auto read = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckDriver(driver));
    list.has_driver = true;
    RETURN_IF_ERROR(CheckDeviceCount(/*ordinal=*/0));
    int count = 0;
    RETURN_IF_ERROR(CUDA_STATUS(cudaGetDeviceCount, &count));
    for (int i = 0; i < count; ++i) {
      CudaFacts facts = driver;
      RETURN_IF_ERROR(ReadProperties(facts, i));
      list.gpus.push_back(std::move(facts));
    }
    return absl::OkStatus();
  };
  list.status = read();
  list.driver_cuda = driver.driver_cuda;
  return list;
}

absl::StatusOr<CudaFacts> OpenCudaContext(int ordinal,
                                          const std::function<void(const CudaFacts&)>& on_facts) {
  CudaFacts facts;
  {
    const StartScope scope("start the driver");
    RETURN_IF_ERROR(CheckDriver(facts));
    RETURN_IF_ERROR(CheckDeviceCount(ordinal));
    RETURN_IF_ERROR(ReadProperties(facts, ordinal));
  }
  if (facts.compute_capability < kOldestCapability) {
    return Unusable(absl::StrCat(facts.product, " (sm_", facts.compute_capability, ")"),
                    absl::StrCat("sm_", kOldestCapability, " or later"),
                    "use an Ampere GPU or a later one");
  }
  if (on_facts) on_facts(facts);
  const StartScope scope("create the context");
  RETURN_IF_ERROR(MakeCudaDeviceCurrent(ordinal));
  RETURN_IF_ERROR(CheckCode(facts));
  if (ONNX_CUDNN_FAST_COMPILE) WarnOfSlowKernels();
  return facts;
}

}  // namespace onnx_cudnn

#include "runtime/cuda/cuda_status.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/cuda/cuda_calls.h"

namespace onnx_cudnn {
namespace {

// After these errors the context is lost: according to CUDA's documentation, only a new process can
// continue.
constexpr std::array kLost = {
    cudaErrorECCUncorrectable,
    cudaErrorHardwareStackError,
    cudaErrorIllegalAddress,
    cudaErrorIllegalInstruction,
    cudaErrorInvalidAddressSpace,
    cudaErrorInvalidPc,
    cudaErrorLaunchFailure,
    cudaErrorLaunchTimeout,
    cudaErrorMisalignedAddress,
    cudaErrorNvlinkUncorrectable,
    cudaErrorAssert,
    cudaErrorContextIsDestroyed,
};

std::atomic<uint64_t> lost_devices = 0;  // a bit for each ordinal
thread_local int noted_device = 0;

uint64_t BitOf(int ordinal) { return uint64_t{1} << (ordinal % 64); }

std::string Text(cudaError_t error) {
  return absl::StrCat(cudaGetErrorName(error), " (", cudaGetErrorString(error), ")");
}

bool IsCaptureError(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

std::string FreeText() {
  const int64_t free_bytes = FreeDeviceBytes();
  return free_bytes < 0 ? "an unknown number free" : absl::StrCat(free_bytes, " free");
}

}  // namespace

int64_t FreeDeviceBytes() {
  size_t free_bytes = 0, all_bytes = 0;
  if (Cuda().cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess) {
    return static_cast<int64_t>(free_bytes);
  }
  Cuda().cudaGetLastError();
  return -1;
}

int NotedDevice() { return noted_device; }
void NoteDeviceForThread(int ordinal) { noted_device = ordinal; }

bool DeviceIsLost(int ordinal) { return (lost_devices & BitOf(ordinal)) != 0; }
bool DeviceIsLost() { return DeviceIsLost(noted_device); }
uint64_t ReplaceLostDevices(uint64_t lost) { return lost_devices.exchange(lost); }

absl::Status LostStatus(std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the device is lost, a new process is needed: ", why));
}

absl::Status OutOfMemory(std::string_view memory, int64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat(memory, ": ", bytes, " bytes asked, on the device ", FreeText()));
}

absl::Status CudaStatus(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  Cuda().cudaGetLastError();
  const std::string text = absl::StrCat(call, ": ", Text(error));
  if (std::find(kLost.begin(), kLost.end(), error) != kLost.end()) {
    lost_devices |= BitOf(noted_device);
    return LostStatus(text);
  }
  if (error == cudaErrorMemoryAllocation) {
    return absl::ResourceExhaustedError(absl::StrCat(text, ": bytes on the device: ", FreeText()));
  }
  if (IsCaptureError(error)) return absl::UnimplementedError(text);
  return absl::InternalError(text);
}

void LogIfFailed(const absl::Status& status) {
  if (!status.ok()) Log(LogSeverity::kError, status.message());
}

}  // namespace onnx_cudnn

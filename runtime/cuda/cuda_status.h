// CUDA error codes as Statuses.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

// CUDA_STATUS(cudaEventRecord, event, stream): makes the call through the table.
#define CUDA_STATUS(name, ...) \
  ::onnx_cudnn::CudaStatus(::onnx_cudnn::Cuda().name(__VA_ARGS__), #name)

namespace onnx_cudnn {

// `error`, the result of `call`, as a Status. Clears the runtime's sticky error, which would
// otherwise reappear as the result of later calls.
//   FailedPrecondition  the thread's device is lost: every later call to it fails
//   ResourceExhausted   out of memory, with the bytes that are free
//   Unimplemented       the call is not allowed during a capture
//   Internal            anything else
absl::Status CudaStatus(cudaError_t error, std::string_view call);

// ResourceExhausted with `memory` ("device memory", "pinned host memory"), bytes requested and
// bytes free.
absl::Status OutOfMemory(std::string_view memory, int64_t bytes);

// Free memory of the current GPU; -1: unknown.
int64_t FreeDeviceBytes();

// The GPU that failed calls of this thread are about: the one that MakeCudaDeviceCurrent made
// current last, 0 before.
int NotedDevice();

void NoteDeviceForThread(int ordinal);

// Whether a call reported that the GPU is lost; destructors then make no calls.
bool DeviceIsLost(int ordinal);
bool DeviceIsLost();  // the noted one
// A bit for each GPU. Returns the previous ones, for tests.
uint64_t ReplaceLostDevices(uint64_t lost);
// The error of every call on a lost device.
absl::Status LostStatus(std::string_view why);

// For destructors, which cannot return errors: logs a failed release and drops it.
void LogIfFailed(const absl::Status& status);

}  // namespace onnx_cudnn

// What a CUDA call's answer means.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

// CUDA_STATUS(cudaEventRecord, event, stream): makes the call through the table.
#define CUDA_STATUS(name, ...) \
  ::onnx_cudnn::CudaStatus(::onnx_cudnn::Cuda().name(__VA_ARGS__), #name)

namespace onnx_cudnn {

// `error` as the answer of `call`. A failure is taken back from the runtime, which would answer
// later calls with it.
//   FailedPrecondition  the device is lost: no call of this process works any more
//   ResourceExhausted   out of memory, with the bytes that are free
//   Unimplemented       what a capture does not take
//   Internal            all else
absl::Status CudaStatus(cudaError_t error, std::string_view call);

// ResourceExhausted: `memory` ("device memory", "pinned host memory"), bytes asked and free.
absl::Status OutOfMemory(std::string_view memory, int64_t bytes);

// Whether a call said that the device is lost; destructors then make no calls.
bool DeviceIsLost();
// For libraries' own answers that say so, and tests. Returns what was set before.
bool SetDeviceLost(bool lost);
// The error of every call on a lost device.
absl::Status LostStatus(std::string_view why);

// In destructors, which cannot report: a failed release is logged and dropped.
void LogIfFailed(const absl::Status& status);

}  // namespace onnx_cudnn

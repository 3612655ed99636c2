// Owners of CUDA handles.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/current_device.h"

namespace onnx_cudnn {

// Move-only owner of one C handle. The destructor cannot return an error: a failed release is
// logged and dropped.
template <typename Handle, auto Destroy>
class UniqueHandle {
 public:
  explicit UniqueHandle(Handle handle = {}) : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, {})), ordinal_(other.ordinal_) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(ordinal_, other.ordinal_);
    return *this;
  }
  // Makes no call on a lost device, where every call would fail.
  ~UniqueHandle() {
    if (handle_ == Handle{} || DeviceIsLost(ordinal_)) return;
    const OnCudaDevice own(ordinal_);
    Destroy(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_;
  int ordinal_ = NotedDevice();
};

// STATUS makes the call `destroy` of the handle's library.
#define ONNX_CUDNN_HANDLE(Type, handle, STATUS, destroy)                   \
  inline void Destroy##Type(handle h) { LogIfFailed(STATUS(destroy, h)); } \
  using Type = UniqueHandle<handle, Destroy##Type>;

ONNX_CUDNN_HANDLE(CudaStream, cudaStream_t, CUDA_STATUS, cudaStreamDestroy)
ONNX_CUDNN_HANDLE(CudaEvent, cudaEvent_t, CUDA_STATUS, cudaEventDestroy)
ONNX_CUDNN_HANDLE(CudaGraph, cudaGraph_t, CUDA_STATUS, cudaGraphDestroy)
ONNX_CUDNN_HANDLE(CudaGraphExec, cudaGraphExec_t, CUDA_STATUS, cudaGraphExecDestroy)

}  // namespace onnx_cudnn

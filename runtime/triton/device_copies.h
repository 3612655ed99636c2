// Copies to, from and within the memory of a GPU, for buffers of Triton that a Run cannot use in
// place. By CUDA's driver, which is opened at run time: a host without one has no such buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn::triton {

// The functions of libcuda.so.1 that are called; 0: success.
struct CudaCalls {
  using Handle = void*;       // CUcontext, CUstream
  using Address = uintptr_t;  // CUdeviceptr
  int (*init)(unsigned flags);
  int (*device_get)(int* device, int ordinal);
  int (*context_retain)(Handle* context, int device);
  int (*context_release)(int device);
  int (*context_push)(Handle context);
  int (*context_pop)(Handle* context);
  int (*allocate)(Address* address, size_t bytes);
  int (*free)(Address address);
  int (*copy_async)(Address to, Address from, size_t bytes, Handle stream);
  int (*stream_create)(Handle* stream, unsigned flags);
  int (*stream_synchronize)(Handle stream);
  int (*stream_destroy)(Handle stream);
  int (*error_string)(int error, const char** text);
};

// Those of this host, loaded once.
//   errors  FailedPrecondition: there is no driver
absl::StatusOr<const CudaCalls*> LoadCudaCalls();

// Of one GPU. One caller at a time.
class DeviceCopies : NotCopyable {
 public:
  //   ordinal  among the GPUs that CUDA_VISIBLE_DEVICES leaves visible
  static absl::StatusOr<std::unique_ptr<DeviceCopies>> Open(const CudaCalls& calls, int ordinal);
  ~DeviceCopies();

  // Between memory of the host and of any GPU; enqueued, in order.
  absl::Status Copy(const void* from, void* to, int64_t bytes);
  // Waits for the copies.
  absl::Status Wait();
  // Memory of the GPU, which must be freed before this is destroyed.
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes);

 private:
  explicit DeviceCopies(const CudaCalls& calls) : calls_(calls) {}
  absl::Status StatusOf(int error, const char* call) const;

  const CudaCalls& calls_;
  int device_ = -1;
  CudaCalls::Handle context_ = nullptr, stream_ = nullptr;
  bool has_unfinished_ = false;
};

}  // namespace onnx_cudnn::triton

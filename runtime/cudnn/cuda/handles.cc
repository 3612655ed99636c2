#include "runtime/cudnn/cuda/handles.h"

#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/current_device.h"

namespace onnx_cudnn {

CudnnHandles::Lease::~Lease() {
  if (pool_ != nullptr) pool_->Return(handle_);
}

absl::Status CudnnHandles::Create() {
  absl::ReaderMutexLock no_capture(CaptureMutex());
  return TakeOrMake().status();  // the Lease is returned at once
}

// A destructor cannot return errors; on a lost device every call would fail.
CudnnHandles::~CudnnHandles() {
  if (DeviceIsLost(ordinal_) || Cudnn() == nullptr) return;
  const OnCudaDevice own(ordinal_);
  absl::ReaderMutexLock no_capture(CaptureMutex());
  absl::MutexLock lock(mutex_);
  for (cudnnHandle_t handle : free_) {
    LogIfFailed(CudnnStatus(Cudnn()->cudnnDestroy(handle), "cudnnDestroy"));
  }
}

absl::StatusOr<CudnnHandles::Lease> CudnnHandles::TakeOrMake() {
  RETURN_IF_ERROR(MakeCudaDeviceCurrent(ordinal_));
  {
    absl::MutexLock lock(mutex_);
    if (!free_.empty()) {
      const cudnnHandle_t handle = free_.back();
      free_.pop_back();
      return Lease(this, handle);
    }
  }
  if (Cudnn() == nullptr) return absl::FailedPreconditionError("cuDNN is not loaded");
  const StartScope scope("create cuDNN handles");
  cudnnHandle_t handle = nullptr;
  RETURN_IF_ERROR(CudnnStatus(Cudnn()->cudnnCreate(&handle), "cudnnCreate"));
  return Lease(this, handle);
}

CudnnHandles::Lease CudnnHandles::Take() {
  const auto is_any_free = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !free_.empty(); };
  absl::MutexLock lock(mutex_, absl::Condition(&is_any_free));
  const cudnnHandle_t handle = free_.back();
  free_.pop_back();
  return Lease(this, handle);
}

void CudnnHandles::Return(cudnnHandle_t handle) {
  absl::MutexLock lock(mutex_);
  free_.push_back(handle);
}

}  // namespace onnx_cudnn

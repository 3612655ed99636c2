#pragma once

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"

namespace onnx_cudnn {

// The cuDNN handles of the device, each used by one thread at a time. Thread-safe.
class CudnnHandles {
 public:
  // A handle for exclusive use while the Lease lives.
  class Lease {
   public:
    Lease(CudnnHandles* pool, cudnnHandle_t handle) : pool_(pool), handle_(handle) {}
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), handle_(other.handle_) {}
    ~Lease();
    cudnnHandle_t get() const { return handle_; }

   private:
    CudnnHandles* pool_;
    cudnnHandle_t handle_;
  };

  explicit CudnnHandles(int ordinal) : ordinal_(ordinal) {}
  ~CudnnHandles();

  int ordinal() const { return ordinal_; }
  // Creates the first handle now. Shares CaptureMutex().
  absl::Status Create();

  // A free handle, else a new one. The caller shares CaptureMutex(). Makes the device's context
  // current on this thread: cuDNN loads code through the driver, which requires it.
  absl::StatusOr<Lease> TakeOrMake();
  // Waits until a handle is free. Creates none, so it may be called during a capture; a Step has
  // created one when it was compiled or loaded.
  Lease Take();

 private:
  void Return(cudnnHandle_t handle);

  const int ordinal_;
  absl::Mutex mutex_;
  std::vector<cudnnHandle_t> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

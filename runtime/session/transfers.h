#pragma once

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Synchronous copies between host memory and a Device's, on a stream of its own. The Device must
// outlive it. Thread-safe.
class Transfers {
 public:
  explicit Transfers(Device& device) : device_(device) {}

  // After the work that a caller enqueued on its stream; nullptr: immediately.
  absl::Status ToHost(const void* from, void* to, int64_t bytes, void* callers_stream = nullptr);
  absl::Status ToDevice(const void* from, void* to, int64_t bytes);
  absl::Status WithinDevice(const void* from, void* to, int64_t bytes);
  // Within the device, ordered as ToHost: writes zeros to `to`, then copies the boxes.
  absl::Status FillWithin(absl::Span<std::byte> to, absl::Span<const BoxCopy> boxes,
                          void* callers_stream);
  // Waits for the work that a caller enqueued on its stream.
  absl::Status WaitFor(void* callers_stream);

 private:
  absl::Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Device& device_;
  absl::Mutex mutex_;
  std::unique_ptr<StreamSet> streams_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<std::byte> pinned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

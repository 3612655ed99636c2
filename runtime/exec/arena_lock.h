#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/progress.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Device memory that several Executors share as their arena, one at a time: a Run takes it from its
// first copy to its end.
class ArenaLock {
 public:
  // Waits until no other Run has it. Cancelled: the call in progress on this thread.
  absl::Status Take() {
    absl::MutexLock lock(mutex_);
    const absl::Status free =
        AwaitUnlessCancelled(mutex_, absl::Condition(
                                         +[](bool* taken) { return !*taken; }, &taken_));
    if (free.ok()) taken_ = true;
    return free;
  }
  void Give() {
    absl::MutexLock lock(mutex_);
    taken_ = false;
  }

  std::shared_ptr<Device> owner;  // destroyed after the memory
  std::shared_ptr<std::byte> memory;
  int64_t bytes = 0;

 private:
  absl::Mutex mutex_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace onnx_cudnn

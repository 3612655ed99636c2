#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Device memory that several Executors share as their arena, one at a time: a Run holds the mutex
// from its first copy to its end.
struct ArenaLock {
  std::shared_ptr<Device> owner;  // destroyed after the memory
  std::shared_ptr<std::byte> memory;
  int64_t bytes = 0;
  absl::Mutex mutex;
};

}  // namespace onnx_cudnn

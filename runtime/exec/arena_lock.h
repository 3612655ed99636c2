#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Device memory in which Executors take turns, instead of an arena each: a Run holds the mutex from
// its first copy to its end.
struct ArenaLock {
  std::shared_ptr<Device> owner;  // goes after its memory
  std::shared_ptr<std::byte> memory;
  int64_t bytes = 0;
  absl::Mutex mutex;
};

}  // namespace onnx_cudnn

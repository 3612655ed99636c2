// The implementation of SharedArena (session.h).
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/arena_lock.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

struct SharedArena::Impl {
  // The memory and its lock, on `device` (described by `ref`); the first caller allocates it.
  //   errors  ResourceExhausted; InvalidArgument: size 0, or it is on another device
  absl::StatusOr<std::shared_ptr<ArenaLock>> Lock(const std::shared_ptr<Device>& device,
                                                  DeviceRef ref);

  const int64_t bytes;
  absl::Mutex mutex;
  std::shared_ptr<ArenaLock> arena_lock ABSL_GUARDED_BY(mutex);
  DeviceRef lies_on ABSL_GUARDED_BY(mutex);
};

}  // namespace onnx_cudnn

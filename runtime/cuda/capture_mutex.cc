#include "runtime/cuda/capture_mutex.h"

#include "absl/base/thread_annotations.h"
#include "runtime/base/run_times.h"

namespace onnx_cudnn {

absl::Mutex& CaptureMutex() {
  static absl::Mutex& mutex = *new absl::Mutex;
  return mutex;
}

OutsideCaptures::OutsideCaptures() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PhaseTimer timer(RunPhase::kLock);
  CaptureMutex().lock_shared();
}

OutsideCaptures::~OutsideCaptures() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  CaptureMutex().unlock_shared();
}

void LockForCapture() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PhaseTimer timer(RunPhase::kLock);
  CaptureMutex().lock();
}

}  // namespace onnx_cudnn

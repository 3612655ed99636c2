// Keeps graph captures apart from allocations and handle creation in the rest of the process.
#pragma once

#include "absl/synchronization/mutex.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// One mutex per process. A capture holds it exclusively; code that allocates, frees or creates a
// handle on the device shares it (OutsideCaptures, absl::ReaderMutexLock). No thread takes it
// twice: nothing is allocated, freed or created between the begin and the end of a capture.
absl::Mutex& CaptureMutex();

// Shares CaptureMutex() while it lives; waiting for it is RunPhase::kLock.
class OutsideCaptures : NotCopyable {
 public:
  OutsideCaptures();
  ~OutsideCaptures();
};
// Takes it exclusively, likewise.
void LockForCapture();

}  // namespace onnx_cudnn

// Keeps graph captures apart from allocations and handle creation in the rest of the process.
#pragma once

#include "absl/synchronization/mutex.h"

namespace onnx_cudnn {

// One mutex per process. A capture holds it exclusively; code that allocates, frees or creates a
// handle on the device shares it (absl::ReaderMutexLock). No thread takes it twice: nothing is
// allocated, freed or created between the begin and the end of a capture.
absl::Mutex& CaptureMutex();

}  // namespace onnx_cudnn

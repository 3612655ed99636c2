// What a graph capture and the rest of the process must not do at once.
#pragma once

#include "absl/synchronization/mutex.h"

namespace onnx_cudnn {

// Of the device. A capture holds it alone; who allocates, frees or makes a handle on the device
// shares it (absl::ReaderMutexLock). Never taken twice by one thread: nothing is allocated, freed
// or made between the begin and the end of a capture.
absl::Mutex& CaptureMutex();

}  // namespace onnx_cudnn

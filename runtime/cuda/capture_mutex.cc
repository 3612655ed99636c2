#include "runtime/cuda/capture_mutex.h"

namespace onnx_cudnn {

absl::Mutex& CaptureMutex() {
  static absl::Mutex& mutex = *new absl::Mutex;
  return mutex;
}

}  // namespace onnx_cudnn

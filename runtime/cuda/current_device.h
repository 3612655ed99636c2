#pragma once

#include "absl/status/status.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// Makes it the calling thread's current GPU, and the one that failed calls are about.
absl::Status MakeCudaDeviceCurrent(int ordinal);

// Makes it current while it lives, for calls about what it owns: frees and destructions on any
// thread. The one that was current before is so again if the process uses it.
class OnCudaDevice : NotCopyable {
 public:
  explicit OnCudaDevice(int ordinal);
  ~OnCudaDevice();

 private:
  const int noted_;
  int before_ = -1;  // -1: nothing to restore
};

// The calling thread's current GPU: -1 if there is none or it cannot be read.
int CurrentCudaDevice();

// Makes it current again, if it is not and the process uses it. Making another GPU current would
// create a context there: a quarter of a second and hundreds of MB.
void RestoreCudaDevice(int ordinal);

}  // namespace onnx_cudnn

// Records the CUDA calls of Steps of the Engine `kernel` instead of running them.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/cuda/cuda_calls.h"

namespace onnx_cudnn {

struct RecordedLaunch {
  const void* function;
  dim3 grid, block;
  size_t shared_bytes;
  bool uses_pdl;         // programmatic dependent launch
  std::byte first_byte;  // of the parameters
};

// Active while it lives. One at a time.
class RecordingCuda {
 public:
  // fail_at  index of the call that fails, from 0; negative: none
  explicit RecordingCuda(int fail_at = -1);
  ~RecordingCuda();

  int calls() const;
  const std::vector<RecordedLaunch>& launches() const;
  int copies() const;  // and fills

 private:
  ScopedCudaCalls scope_;
};

}  // namespace onnx_cudnn

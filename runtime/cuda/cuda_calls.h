// The only table of CUDA runtime calls. All uses of the CUDA runtime in the project go through it,
// so that a test can insert a fake or make the N-th call fail.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// Each entry is the runtime function of its name.
struct CudaCalls {
#define CALL(name, parameters) cudaError_t(*name) parameters;
#include "runtime/cuda/cuda_calls.inc"
#undef CALL
};

// The functions of the CUDA runtime.
const CudaCalls& SystemCudaCalls();

// The table in use: the runtime's, unless a test replaced it.
const CudaCalls& Cuda();

// Replaces the table of the whole process while it lives; for tests. `calls` must outlive it. The
// new device starts as not lost; the destructor restores the previous table and its lost state.
class ScopedCudaCalls : NotCopyable {
 public:
  explicit ScopedCudaCalls(const CudaCalls& calls);
  ~ScopedCudaCalls();

 private:
  const CudaCalls* before_;
  uint64_t were_lost_;
};

}  // namespace onnx_cudnn

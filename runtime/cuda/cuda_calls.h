// The one table of CUDA runtime calls. Everything in the project reaches the GPU's runtime through
// it, so that a test can put a fake below it or make the N-th call fail.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace onnx_cudnn {

// Each entry is the runtime's function of its name.
struct CudaCalls {
#define CALL(name, parameters) cudaError_t(*name) parameters;
#include "runtime/cuda/cuda_calls.inc"
#undef CALL
};

// The CUDA runtime's own.
const CudaCalls& SystemCudaCalls();

// The table in use: the runtime's, unless a test set another.
const CudaCalls& Cuda();

// Puts `calls` in place for the whole process while it lives; for tests. `calls` must outlive it.
// Its device is not lost at first; at its end the table before it is back, and so is whether that
// one's device is lost.
class ScopedCudaCalls {
 public:
  explicit ScopedCudaCalls(const CudaCalls& calls);
  ~ScopedCudaCalls();
  ScopedCudaCalls(const ScopedCudaCalls&) = delete;
  ScopedCudaCalls& operator=(const ScopedCudaCalls&) = delete;

 private:
  const CudaCalls* before_;
  bool was_lost_;
};

}  // namespace onnx_cudnn

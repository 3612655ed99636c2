// A CUDA runtime over host memory, below the table of CUDA calls. Streams run what they get at
// once; a capture keeps closures and replays them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/cuda/cuda_calls.h"

namespace onnx_cudnn {

struct FakeCudaOptions {
  int driver = 13000;  // 0: there is none
  int runtime = 13000;
  int devices = 1;
  int compute_capability = 90;
  int code_capability = 90;
  bool has_code = true;  // this build's kernels run on the device
  int64_t memory_bytes = int64_t{1} << 30;
  // The call that fails, from 0, and with what; none when negative. A release that fails releases
  // all the same. Errors that lose the device fail every later call too.
  int fail_at = -1;
  cudaError_t error = cudaErrorUnknown;
  // What a launch does with its one parameter (4,096 bytes of it, 64-byte aligned), in its turn.
  // Empty: the function is a FakeKernel.
  std::function<void(const cudaLaunchConfig_t&, const void* function, const std::byte* parameter)>
      run_kernel = nullptr;
  // cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; nullptr: the driver has none.
  void* encode_tensor_map = nullptr;
  void* encode_places = nullptr;
};

// In place while it lives. One at a time.
class FakeCuda {
 public:
  explicit FakeCuda(const FakeCudaOptions& options = {});
  ~FakeCuda();

  int calls() const;                // until now
  std::string failed_call() const;  // its name; empty: none failed
  int held() const;                 // memory, streams, events and graphs that were not released
  int64_t held_bytes() const;       // of device memory
  int launches() const;             // of kernels and host functions, replayed ones too
  cudaLaunchConfig_t last_launch() const;  // its attributes are those below
  cudaLaunchAttribute last_attribute(int i) const;
  int shared_bytes_allowed() const;  // to the last function that was allowed any
  void* callers_stream();            // of somebody else; never released
  // A device's memory in which nothing was allocated here.
  void SetPointer(const void* data, cudaMemoryType type, int device);

 private:
  ScopedCudaCalls scope_;
};

// What a fake kernel is: called with its first argument, a pointer.
using FakeKernel = void (*)(void* argument);

}  // namespace onnx_cudnn

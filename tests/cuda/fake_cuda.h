// A fake CUDA runtime over host memory, below the table of CUDA calls. Streams run work at once; a
// capture stores closures and replays them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/cuda/cuda_calls.h"

namespace onnx_cudnn {

struct FakeCudaOptions {
  int driver = 13000;  // 0: no driver
  int runtime = 13000;
  int devices = 1;
  int compute_capability = 90;
  int code_capability = 90;
  bool has_code = true;                     // this build's kernels run on the device
  int64_t memory_bytes = int64_t{1} << 30;  // of each device
  bool has_peers = true;                    // a device may read the memory of others
  int clock_khz = 1000;                     // of multiprocessors and memory
  // The index of the call that fails, from 0, and its error; negative: none. A failing release
  // still releases. Errors that lose the device fail every later call too.
  int fail_at = -1;
  cudaError_t error = cudaErrorUnknown;
  // What a launch does, in stream order, with its one parameter (4,096 bytes of it, 64-byte
  // aligned). Empty: the function is a FakeKernel.
  std::function<void(const cudaLaunchConfig_t&, const void* function, const std::byte* parameter)>
      run_kernel = nullptr;
  // cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; nullptr: the driver lacks it.
  void* encode_tensor_map = nullptr;
  void* encode_im2col = nullptr;
  const char* product = "NVIDIA Fake";
};

// Active while it lives. One at a time.
class FakeCuda {
 public:
  explicit FakeCuda(const FakeCudaOptions& options = {});
  ~FakeCuda();

  int calls() const;                // so far
  std::string failed_call() const;  // its name; empty: none failed
  int held() const;                 // memory, streams, events and graphs that are not released
  int64_t held_bytes(int ordinal = 0) const;  // of a device's memory
  // From GPU to GPU by cudaMemcpyPeerAsync: where one reads the other's memory, and where not.
  int direct_copies() const;
  int staged_copies() const;
  int launches() const;                    // of kernels and host functions, including replayed ones
  cudaLaunchConfig_t last_launch() const;  // its attributes are those below
  cudaLaunchAttribute last_attribute(int i) const;
  int shared_bytes_allowed() const;    // the last value set for a function
  void* callers_stream();              // a stream that the caller owns; never released
  void SetMultiprocessors(int count);  // of every device; 100 before
  void LoseDevice(int ordinal);        // every later call to it fails
  // Declares `data` as memory that was not allocated here.
  void SetPointer(const void* data, cudaMemoryType type, int device);

 private:
  ScopedCudaCalls scope_;
};

// A fake kernel: called with its first argument, a pointer.
using FakeKernel = void (*)(void* argument);

}  // namespace onnx_cudnn

// A sequence of operations that makes every kind of CUDA call of a Device and its streams.
#pragma once

#include "absl/status/status.h"
#include "tests/cuda/fake_cuda.h"

namespace onnx_cudnn {

// Opens the device, allocates, uploads, runs eagerly, captured and on a caller's stream, times
// replays. Internal if a result is wrong.
absl::Status RunScenario(FakeCuda& cuda);

// Adds `amount` to `count` numbers in device memory.
struct Increment {
  float* data;
  int count;
  float amount;
};
void RunIncrement(void* increment);  // a FakeKernel

}  // namespace onnx_cudnn

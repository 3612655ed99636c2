// Work that makes every kind of CUDA call that a Device and its streams make.
#pragma once

#include "absl/status/status.h"
#include "tests/cuda/fake_cuda.h"

namespace onnx_cudnn {

// Opens the device, allocates, uploads, runs eagerly, captured and on a caller's stream, times
// replays. Internal when a result is wrong.
absl::Status RunScenario(FakeCuda& cuda);

// Adds `amount` to `count` numbers: what device memory is to hold after it.
struct Increment {
  float* data;
  int count;
  float amount;
};
void RunIncrement(void* increment);  // a FakeKernel

}  // namespace onnx_cudnn

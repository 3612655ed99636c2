// A vector on a GPU that is not there; another file where the build has no CUDA half.
#pragma once

#include "tests/onnx_backend/run_vector.h"

namespace onnx_cudnn {

constexpr bool kHasEmulator = ONNX_CUDNN_HAS_EMULATOR;

// kFail too where the emulator refused a launch.
Outcome RunEmulated(const TestVector& vector);

}  // namespace onnx_cudnn

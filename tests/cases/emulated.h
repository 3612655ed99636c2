// Runs a vector on an emulated GPU; another file replaces it in builds without the CUDA half.
#pragma once

#include "tests/onnx_backend/run_vector.h"

namespace onnx_cudnn {

constexpr bool kHasEmulator = ONNX_CUDNN_HAS_EMULATOR;

// Also kFail if the emulator refused a launch.
Outcome RunEmulated(const TestVector& vector);

}  // namespace onnx_cudnn

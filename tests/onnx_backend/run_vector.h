// Runs a test vector as a user would.
#pragma once

#include <string>

#include "runtime/session.h"
#include "tests/onnx_backend/vectors.h"

namespace onnx_cudnn {

struct Outcome {
  enum class Kind {
    kPass,           // every data set gave the expected outputs
    kUnimplemented,  // refused, with a message
    kFail,           // a wrong output, any other error
  };
  Kind kind;
  std::string message;                // without the model's path
  int64_t nodes = 0, host_nodes = 0;  // of its Program; those that ran on the host
};

// Outputs must have the expected dtype and dims. Tolerance of every float: |difference| ≤ 1e-3 ×
// |expected| + 1e-7 × the output's largest |expected|, or all are within 1e-7; NaNs and equal
// infinities are equal. It is ONNX's runner's but for "largest". Every other dtype is exact.
Outcome RunVector(const TestVector& vector, const SessionOptions& options);

}  // namespace onnx_cudnn

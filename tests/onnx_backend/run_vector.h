// Runs a test vector as a user would.
#pragma once

#include <optional>
#include <string>

#include "onnx_cudnn/session.h"
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
  int64_t nodes = 0, host_nodes = 0;  // of its Program; nodes that ran on the host
  // The error with which it was refused, if it was.
  std::optional<ErrorCode> refused = std::nullopt;
};

// Outputs must have the expected dtype and dims and be within the vector's tolerance; NaNs and
// equal infinities are equal; random outputs follow their rule (random_rules.h). A data set without
// outputs passes if it runs.
Outcome RunVector(const TestVector& vector, const SessionOptions& options);

}  // namespace onnx_cudnn

// Limits on the resources that a model may use in the loader.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

// A valid model that exceeds one of these is Unimplemented; the message contains the limit.
struct Limits {
  int64_t file_bytes =
      (int64_t{1} << 31) - 1;  // of the model without external data; protobuf's own limit
  int protobuf_depth = 100;    // nested messages; a file beyond it counts as damaged
  int subgraph_depth = 16;     // nested bodies
  int function_depth = 100;    // nested calls of model-local functions
  int functions = 10'000;
  int64_t nodes = 1'000'000;  // including bodies and expanded functions
  int name_bytes = 4096;      // per name
  int rank = 8;
};

}  // namespace onnx_cudnn

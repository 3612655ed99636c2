// What a model may ask of the loader.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

// A valid model above one of these is Unimplemented, with the limit's value in the message.
struct Limits {
  int64_t file_bytes =
      (int64_t{1} << 31) - 1;  // of the model without external data: protobuf's own limit
  int protobuf_depth = 100;    // nested messages; beyond, the file counts as damaged
  int subgraph_depth = 16;     // bodies within bodies
  int function_depth = 100;    // model-local functions that call each other
  int functions = 10'000;
  int64_t nodes = 1'000'000;  // with those of bodies and of expanded functions
  int name_bytes = 4096;      // of any name
  int rank = 8;
};

}  // namespace onnx_cudnn

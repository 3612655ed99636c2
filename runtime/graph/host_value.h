#pragma once

#include <vector>

#include "runtime/graph/host_tensor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// A tensor, or a sequence, an optional or a map of values, in host memory.
struct HostValue {
  Type::Kind kind = Type::Kind::kTensor;
  HostTensor tensor;                // of a tensor; the keys of a map
  std::vector<HostValue> elements;  // of a sequence or a map; at most one of an optional
};

}  // namespace onnx_cudnn

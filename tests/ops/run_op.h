#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/attrs.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// One Node and its operands. An input without a dtype is absent.
struct OpRun {
  std::string op;
  std::vector<HostTensor> inputs;
  Attrs attrs = {};
  int outputs = 1;
  std::string domain = "";
  int opset = kNewestOpset;
};

// Infers the output's types and runs the op's reference with EvaluateNode, with outputs and
// workspace filled with NaN.
absl::StatusOr<std::vector<HostTensor>> RunOp(const OpRun& run);

// The first output's elements in double, for any number dtype; aborts with the message if RunOp
// fails.
struct Numbers {
  Dims dims;
  std::vector<double> values;
};
Numbers NumbersOf(const HostTensor& tensor);
Numbers RunForNumbers(const OpRun& run);

// A tensor of `dtype` from values in double.
HostTensor TensorOf(DType dtype, Dims dims, const std::vector<double>& values);
HostTensor F32(Dims dims, const std::vector<double>& values);
// Small multiples of 1/8 of both signs, equal for equal seeds and exact in every float type.
std::vector<double> Pattern(int64_t count, uint32_t seed);

}  // namespace onnx_cudnn

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {

// The tensors for --verify, by the model's names.
struct Expected {
  NamedTensors inputs;   // those in the file or directory
  NamedTensors outputs;  // at least one
};

// `path` is a .npz file whose arrays have the names of the model's outputs (and inputs, if any),
// possibly as FileNamesOf writes them; or a directory of ONNX's tests with input_0.pb … and
// output_0.pb …, by position; or a directory with NAME.npy of outputs, as FileNamesOf writes NAME.
//   errors  InvalidArgument: an array with any other name, no output; those of the files
absl::StatusOr<Expected> ReadExpected(const std::string& path, const std::vector<ValueInfo>& inputs,
                                      const std::vector<ValueInfo>& outputs);

}  // namespace onnx_cudnn

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {

// What --verify compares with, by the model's names.
struct Expected {
  NamedTensors inputs;   // those that the file or folder holds
  NamedTensors outputs;  // at least one
};

// `path` is a .npz file with arrays named as the model's outputs (and inputs, if any), or as
// FileNamesOf makes them; or a folder of ONNX's tests with input_0.pb … and output_0.pb …, by
// place.
//   errors  InvalidArgument: an array that names neither, no output; those of the files
absl::StatusOr<Expected> ReadExpected(const std::string& path, const std::vector<ValueInfo>& inputs,
                                      const std::vector<ValueInfo>& outputs);

}  // namespace onnx_cudnn

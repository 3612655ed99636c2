#pragma once

#include <vector>

#include "absl/status/status.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/tensor.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// OutOfRange: with SessionOptions::check_finite, an element of an output is NaN or infinite; names
// the output and counts its elements. Without the option it does nothing. Outputs in device memory
// are copied to the host; they must have been written.
//   outputs  parallel to model.outputs()
absl::Status CheckFinite(const LoadedModel& model, const std::vector<TensorView>& outputs);
absl::Status CheckFinite(const LoadedModel& model, const std::vector<Tensor>& outputs);
// Tensors within sequences, optionals and maps too.
absl::Status CheckFinite(const LoadedModel& model, const std::vector<ModelValue>& outputs);

}  // namespace onnx_cudnn

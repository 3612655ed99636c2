// Segments that are padded to buckets of found sizes: their lengths, inputs and outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/model_value.h"
#include "passes/shape_buckets/pad_lengths.h"
#include "runtime/session/segments/values.h"

namespace onnx_cudnn {

// `tensor` with zeros behind, up to `dims`: itself, or in new memory of its device.
absl::StatusOr<Tensor> WithPadding(const Tensor& tensor, const Dims& dims,
                                   const ValueMemory& memory);
// The elements of `extents` at `lengths`. It shares the memory of `padded` where they are the first
// there, and is in new memory of its device otherwise.
absl::StatusOr<Tensor> WithoutPadding(const Tensor& padded, const std::vector<Affine>& extents,
                                      const std::vector<int64_t>& lengths,
                                      const ValueMemory& memory);

}  // namespace onnx_cudnn

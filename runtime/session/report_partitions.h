#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/checked_partition.h"
#include "onnx_cudnn/tensor.h"
#include "runtime/plan/program.h"
#include "runtime/session/session_device.h"

namespace onnx_cudnn {

// CheckPartitions (runtime/exec) for a caller's tensors, with results as text and numbers.
//   inputs  parallel to program.graph.inputs(), with their dtypes and dims
//   errors  InvalidArgument: an input in device memory; those of CheckPartitions
absl::StatusOr<std::vector<CheckedPartition>> ReportPartitions(
    const Program& program, const std::vector<const TensorView*>& inputs,
    const SessionDevice& device);

}  // namespace onnx_cudnn

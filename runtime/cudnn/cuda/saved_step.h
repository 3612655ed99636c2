#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"

namespace onnx_cudnn {

// An operand of a plan: the pointer that it is bound to, or its number.
struct PlanOperand {
  int tensor = 0;  // index into the tensors of the CudnnGraph
  CudnnTensor::Kind kind = CudnnTensor::Kind::kInput;
  int index = 0;  // position among the Step's inputs, outputs or constants
  float number = 0;
  bool is_prefetched = false;  // it is one of Step::prefetched_inputs
  int64_t offset = 0;          // bytes from its begin
  bool operator==(const PlanOperand&) const = default;
};

// The data of a cuDNN Step, without the Candidate.
struct SavedStep {
  size_t version = 0;  // of cuDNN
  std::string device;
  std::string engine;  // "engine 41, k2=0"
  std::vector<PlanOperand> operands;
  std::vector<PackedConstant> constants;
  std::string plan;  // as cuDNN serializes it
};

std::string ToText(const SavedStep& step);
// InvalidArgument: `text` is not in the form that ToText writes.
absl::StatusOr<SavedStep> ParseSavedStep(std::string_view text);

}  // namespace onnx_cudnn

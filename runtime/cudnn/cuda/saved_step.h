#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"

namespace onnx_cudnn {

// An operand of a plan: which pointer it is bound to, or its number.
struct PlanOperand {
  int tensor = 0;  // of the CudnnGraph
  CudnnTensor::Kind kind = CudnnTensor::Kind::kInput;
  int index = 0;  // of the Step's inputs, outputs or constants
  float number = 0;
  bool is_early = false;  // an input of Step::prefetched_inputs
  bool operator==(const PlanOperand&) const = default;
};

// What a cuDNN Step is made of, without the Candidate.
struct SavedStep {
  size_t version = 0;  // of cuDNN
  std::string device;
  std::string engine;  // "engine 41, k2=0"
  std::vector<PlanOperand> operands;
  std::vector<PackedConstant> constants;
  std::string plan;  // cuDNN's own form of it
};

std::string ToText(const SavedStep& step);
// InvalidArgument: `text` is not what ToText writes.
absl::StatusOr<SavedStep> ParseSavedStep(std::string_view text);

}  // namespace onnx_cudnn

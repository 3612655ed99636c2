#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/pass.h"
#include "tests/random/random_case.h"

namespace onnx_cudnn {

// The result of an Execution of a case.
struct Answer {
  std::vector<HostTensor> outputs;
  bool acted = true;  // false: a pass changed nothing
};

// Computes the outputs of a case's Graph; all Executions must agree.
struct Execution {
  std::string name;
  std::function<absl::StatusOr<Answer>(const RandomCase&)> run;
  DType lowest = DType::kF32;  // of the cases that it is for
};

// Rewrites a copy of the Graph, verifies it after each pass, and evaluates it.
Execution ByPasses(std::string name, std::function<std::vector<std::unique_ptr<Pass>>()> make);

// Every pass alone, every pipeline, and Programs for every target and partitioner on the CPU
// device.
std::vector<Execution> AllExecutions();

// "" if `answer` has the case's outputs, each within ToleranceOf its type; otherwise the first
// difference, or the error.
std::string DifferenceOf(const RandomCase& c, const absl::StatusOr<Answer>& answer);

}  // namespace onnx_cudnn

// Compares one Candidate on the GPU with the references of its Nodes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compare.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

struct CandidateCheck {
  const Candidate& candidate;
  const Target& target;
  Device& device;
  ConstantStore& constants;
  double least_tolerance = 0;  // if the case allows more
  bool expects_error = false;  // outputs are not compared
};

struct CandidateResult {
  std::vector<std::string> wrong;    // differences, one line each
  std::vector<std::string> refused;  // refused Variants, with their reasons
  int ran = 0;                       // Variants that ran
};

// Compiles every Variant (of libraries the first two), runs each on `inputs` and expects: the
// result of Evaluate for the Nodes, equal bits in a second run, padding written as zeros, foreign
// lanes unchanged; for our own kernels the same with poisoned padding. If ONNX_CUDNN_TRACE is set,
// uses all Variants and prints each before it runs (so the last one printed hangs) and how long it
// took.
//   errors  failures of compiling, running or the references
absl::StatusOr<CandidateResult> CheckCandidate(const CandidateCheck& check,
                                               const std::vector<HostTensor>& inputs);

}  // namespace onnx_cudnn

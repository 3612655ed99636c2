// One Candidate on the GPU against the references of its Nodes.
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
  double least_tolerance = 0;  // where the case allows more
  bool expects_error = false;  // outputs are not compared
};

struct CandidateResult {
  std::vector<std::string> wrong;    // what differs, one line each
  std::vector<std::string> refused;  // Variants that were no Step, with their reasons
  int ran = 0;                       // Variants that ran
};

// Compiles every Variant (of libraries the first two), runs each over `inputs` and expects: what
// Evaluate says of the Nodes, equal bits in a second run, padding written as zeros, foreign lanes
// left alone; of our own kernels the same over poisoned padding. With ONNX_CUDNN_TRACE in the
// environment it takes all Variants and names each before it runs (the last one hangs) and how long
// it took.
//   errors  what compiling, running or the references failed with
absl::StatusOr<CandidateResult> CheckCandidate(const CandidateCheck& check,
                                               const std::vector<HostTensor>& inputs);

}  // namespace onnx_cudnn

#pragma once

#include <set>
#include <string>
#include <utility>

#include "runtime/plan/engine.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {

// The Engine `kernel` for some ops.
class SomeKernels final : public Engine {
 public:
  explicit SomeKernels(std::set<std::string> ops) : ops_(std::move(ops)) {}
  std::string_view name() const override { return "kernel"; }
  void Propose(const Graph&, const Node&, const Target&, CandidateSink&) const override {}
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 1}; }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    if (!ops_.contains(std::string(candidate.nodes[0]->op()))) return Compiled::No("not this op");
    return CompileReference(candidate);
  }

 private:
  const std::set<std::string> ops_;
};

}  // namespace onnx_cudnn

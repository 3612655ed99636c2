#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/conversion.h"
#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// The rules of our own kernels, for planning. Its Steps run the references.
class KernelRules : public Engine {
 public:
  std::string_view name() const override { return "kernel"; }
  void Propose(const Graph& graph, const Node& anchor, const Target& target,
               CandidateSink& sink) const override;
  Support Check(const Graph& graph, const Candidate& candidate,
                const Target& target) const override;
  Cost Price(const Candidate& candidate, const Target& target) const override;
  // One per kernel that accepts the Candidate: its name.
  absl::StatusOr<std::vector<Variant>> Variants(const Candidate& candidate,
                                                const Target& target) const override;
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override;

 protected:
  // Cheapest first.
  std::vector<const Kernel*> KernelsThatTake(const Candidate& candidate,
                                             const Target& target) const;
};

// The Engine `kernel` without a GPU.
std::unique_ptr<Engine> MakeKernelRules();

}  // namespace onnx_cudnn

#include "runtime/tune/reference.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/ops/evaluate.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {
namespace {

class NodeByNode {
 public:
  NodeByNode(const Target& target, Device& device, ConstantStore& constants)
      : target_(target), device_(device), constants_(constants) {
    for (const Engine* engine : target.engines) {
      if (engine->name() == "kernel") kernels_ = engine;
    }
  }

  // Parallel to BoundaryOf({&node}).outputs.
  absl::StatusOr<std::vector<HostTensor>> Run(const Node& node, const Boundary& boundary,
                                              std::vector<HostTensor> inputs) {
    if (kernels_ != nullptr) {
      const Candidate plain = RowMajorCandidate(*kernels_, node, Space::kDevice, target_);
      ASSIGN_OR_RETURN(const Choice choice, FirstThatCompiles(plain, target_));
      if (choice.compiled.step() != nullptr) {
        ASSIGN_OR_RETURN(const auto runner,
                         StepRunner::Create(plain, choice.compiled.step(), device_, constants_));
        ASSIGN_OR_RETURN(StepResult result, runner->Run(inputs, StepRunner::Padding::kZero));
        return std::move(result.outputs);
      }
    }
    for (const Value* v : boundary.constants) inputs.push_back(v->constant());
    return Evaluate(Extract({{&node}}), inputs);
  }

 private:
  const Target& target_;
  Device& device_;
  ConstantStore& constants_;
  const Engine* kernels_ = nullptr;  // nullptr: the Target has none
};

}  // namespace

absl::StatusOr<std::vector<HostTensor>> RunNodeByNode(const Candidate& candidate,
                                                      absl::Span<const HostTensor> inputs,
                                                      const Target& target, Device& device,
                                                      ConstantStore& constants) {
  const Boundary whole = BoundaryOf(candidate.nodes);
  absl::flat_hash_map<const Value*, HostTensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[whole.inputs[i]] = inputs[i];
  NodeByNode runner(target, device, constants);
  for (const Node* node : candidate.nodes) {
    const Boundary boundary = BoundaryOf({{node}});
    std::vector<HostTensor> in;
    for (const Value* v : boundary.inputs) in.push_back(values.at(v));
    ASSIGN_OR_RETURN(std::vector<HostTensor> out, runner.Run(*node, boundary, std::move(in)));
    for (size_t i = 0; i < out.size(); ++i) values[boundary.outputs[i]] = std::move(out[i]);
  }
  std::vector<HostTensor> outputs;
  for (const Value* v : whole.outputs) outputs.push_back(values.at(v));
  return outputs;
}

}  // namespace onnx_cudnn

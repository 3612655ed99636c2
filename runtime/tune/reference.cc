#include "runtime/tune/reference.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/ops/evaluate.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {
namespace {

// Values lie on the Device from the first kernel that reads or writes them, on the host from the
// first reference that does.
class NodeByNode {
 public:
  NodeByNode(const Target& target, Device& device, ConstantStore& constants,
             std::unique_ptr<StreamSet> streams)
      : target_(target), device_(device), constants_(constants), streams_(std::move(streams)) {
    for (const Engine* engine : target.engines) {
      if (engine->name() == "kernel") kernels_ = engine;
    }
  }

  void Put(const Value& value, HostTensor pinned) {
    values_[&value] = {.tensor = std::move(pinned), .is_pinned = true};
  }
  absl::Status Run(const Node& node) {
    if (kernels_ != nullptr) {
      const Candidate plain = RowMajorCandidate(*kernels_, node, Space::kDevice, target_);
      ASSIGN_OR_RETURN(const Choice choice, FirstThatCompiles(plain, target_));
      const std::shared_ptr<const Step>& step = choice.compiled.step();
      if (step != nullptr && step->aliases().empty()) return RunKernel(plain, step);
    }
    return RunReference(node);
  }
  absl::StatusOr<HostTensor> OnHost(const Value& value) {
    Held& held = values_.at(&value);
    if (held.tensor.defined()) return held.tensor;
    const int64_t bytes = value.bytes();
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> pinned, device_.Allocate(bytes, Space::kHost));
    RETURN_IF_ERROR(Copy(pinned.get(), held.memory.get(), bytes));
    held.tensor = HostTensor::Borrow(value.dtype(), value.dims(), pinned.get(), pinned);
    return held.tensor;
  }

 private:
  // Row-major; one of them at least.
  struct Held {
    HostTensor tensor;
    bool is_pinned = false;  // the tensor is in the Device's memory
    std::shared_ptr<std::byte> memory;
  };

  absl::Status RunKernel(const Candidate& plain, std::shared_ptr<const Step> step) {
    const Boundary boundary = BoundaryOf(plain.nodes);
    std::vector<std::shared_ptr<std::byte>> inputs;
    for (const Value* v : boundary.inputs) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), OnDevice(*v));
    }
    ASSIGN_OR_RETURN(const auto runner,
                     StepRunner::Create(plain, std::move(step), device_, constants_, inputs));
    RETURN_IF_ERROR(runner->RunInPlace());
    for (size_t i = 0; i < boundary.outputs.size(); ++i) {
      values_[boundary.outputs[i]] = {.memory = runner->output(static_cast<int>(i))};
    }
    return absl::OkStatus();
  }

  absl::Status RunReference(const Node& node) {
    const Boundary boundary = BoundaryOf({{&node}});
    std::vector<HostTensor> inputs;
    for (const Value* v : boundary.inputs) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), OnHost(*v));
    }
    for (const Value* v : boundary.constants) inputs.push_back(v->constant());
    ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Evaluate(Extract({{&node}}), inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_[boundary.outputs[i]] = {.tensor = std::move(outputs[i])};
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<std::byte>> OnDevice(const Value& value) {
    Held& held = values_.at(&value);
    if (held.memory != nullptr) return held.memory;
    const int64_t bytes = held.tensor.bytes();
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, device_.Allocate(bytes, Space::kDevice));
    const auto* from = static_cast<const std::byte*>(held.tensor.raw());
    std::shared_ptr<std::byte> pinned;
    if (!held.is_pinned) {
      ASSIGN_OR_RETURN(pinned, device_.Allocate(bytes, Space::kHost));
      if (bytes > 0) std::memcpy(pinned.get(), from, bytes);
      from = pinned.get();
    }
    RETURN_IF_ERROR(Copy(memory.get(), from, bytes));
    held.memory = std::move(memory);
    return held.memory;
  }

  absl::Status Copy(std::byte* to, const std::byte* from, int64_t bytes) {
    const absl::Status copied = bytes == 0 ? absl::OkStatus() : streams_->Copy(0, to, from, bytes);
    const absl::Status done = streams_->Synchronize();
    RETURN_IF_ERROR(copied);
    return done;
  }

  const Target& target_;
  Device& device_;
  ConstantStore& constants_;
  const std::unique_ptr<StreamSet> streams_;
  const Engine* kernels_ = nullptr;  // nullptr: the Target has none
  absl::flat_hash_map<const Value*, Held> values_;
};

}  // namespace

absl::StatusOr<std::vector<HostTensor>> RunNodeByNode(const Candidate& candidate,
                                                      absl::Span<const HostTensor> inputs,
                                                      const Target& target, Device& device,
                                                      ConstantStore& constants) {
  const Boundary whole = BoundaryOf(candidate.nodes);
  ASSIGN_OR_RETURN(std::unique_ptr<StreamSet> streams, device.CreateStreams(1));
  NodeByNode runner(target, device, constants, std::move(streams));
  for (size_t i = 0; i < inputs.size(); ++i) runner.Put(*whole.inputs[i], inputs[i]);
  for (const Node* node : candidate.nodes) RETURN_IF_ERROR(runner.Run(*node));
  std::vector<HostTensor> outputs;
  for (const Value* v : whole.outputs) {
    ASSIGN_OR_RETURN(outputs.emplace_back(), runner.OnHost(*v));
  }
  return outputs;
}

}  // namespace onnx_cudnn

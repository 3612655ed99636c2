#include "runtime/tune/reference.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/ops/evaluate.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {
namespace {

// Elements of an input that the host generates; the device repeats them. A prime, so that no tile
// or row is a multiple of it.
constexpr int64_t kPeriod = 499979;

}  // namespace

Reference::Reference(const Candidate& candidate, const Target& target, Device& device,
                     ConstantStore& constants)
    : candidate_(candidate),
      whole_(BoundaryOf(candidate.nodes)),
      target_(target),
      device_(device),
      constants_(constants) {
  for (const Engine* engine : target.engines) {
    if (engine->name() == "kernel") kernels_ = engine;
  }
}

absl::Status Reference::Run(IndexValues indices) {
  ASSIGN_OR_RETURN(streams_, device_.CreateStreams(1));
  for (size_t i = 0; i < whole_.inputs.size(); ++i) {
    RETURN_IF_ERROR(Fill(*whole_.inputs[i], i, indices));
  }
  for (const Node* node : candidate_.nodes) RETURN_IF_ERROR(RunNode(*node));
  return absl::OkStatus();
}

// The host generates the first elements; each copy on the device doubles the filled part.
absl::Status Reference::Fill(const Value& value, uint64_t seed, IndexValues indices) {
  const int64_t bytes = value.bytes();
  const int64_t elements =
      BitsOf(value.dtype()) < 8 ? value.elements() : std::min(value.elements(), kPeriod);
  int64_t done = BytesOf(value.dtype(), elements);
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> block, device_.Allocate(done, Space::kHost));
  ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, device_.Allocate(bytes, Space::kDevice));
  WriteSeededNumbers(value.dtype(), elements, seed, indices, block.get());
  RETURN_IF_ERROR(Copy(memory.get(), block.get(), done));
  absl::Status copied = absl::OkStatus();
  while (done < bytes && copied.ok()) {
    const int64_t more = std::min(done, bytes - done);
    copied = streams_->Copy(0, memory.get() + done, memory.get(), more);
    done += more;
  }
  const absl::Status ended = streams_->Synchronize();
  RETURN_IF_ERROR(copied);
  values_[&value] = {.memory = std::move(memory)};
  return ended;
}

absl::Status Reference::RunNode(const Node& node) {
  if (kernels_ == nullptr) return RunReference(node);
  const Candidate plain = RowMajorCandidate(*kernels_, node, Space::kDevice, target_);
  ASSIGN_OR_RETURN(const Choice choice, FirstThatCompiles(plain, target_));
  const std::shared_ptr<const Step>& step = choice.compiled.step();
  if (step == nullptr || !StepRunner::RunsInPlace(*step)) return RunReference(node);
  const Boundary boundary = BoundaryOf(plain.nodes);
  std::vector<std::shared_ptr<std::byte>> inputs;
  for (const Value* v : boundary.inputs) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), OnDevice(*v));
  }
  ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(plain, step, device_, constants_, inputs));
  RETURN_IF_ERROR(runner->RunInPlace());
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    values_[boundary.outputs[i]] = {.memory = runner->output(static_cast<int>(i))};
  }
  return absl::OkStatus();
}

absl::Status Reference::RunReference(const Node& node) {
  const Boundary boundary = BoundaryOf({{&node}});
  ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, OnHost(boundary.inputs));
  for (const Value* v : boundary.constants) inputs.push_back(v->constant());
  ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Evaluate(Extract({{&node}}), inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    values_[boundary.outputs[i]] = {.tensor = std::move(outputs[i])};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> Reference::Inputs() { return OnHost(whole_.inputs); }

absl::StatusOr<std::vector<HostTensor>> Reference::Outputs() { return OnHost(whole_.outputs); }

absl::StatusOr<std::vector<HostTensor>> Reference::OnHost(const std::vector<const Value*>& values) {
  std::vector<HostTensor> tensors;
  for (const Value* v : values) {
    ASSIGN_OR_RETURN(tensors.emplace_back(), OnHost(*v));
  }
  return tensors;
}

absl::StatusOr<HostTensor> Reference::OnHost(const Value& value) {
  Held& held = values_.at(&value);
  if (held.tensor.defined()) return held.tensor;
  const int64_t bytes = value.bytes();
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> pinned, device_.Allocate(bytes, Space::kHost));
  RETURN_IF_ERROR(Copy(pinned.get(), held.memory.get(), bytes));
  held.tensor = HostTensor::Borrow(value.dtype(), value.dims(), pinned.get(), pinned);
  held.is_pinned = true;
  return held.tensor;
}

absl::StatusOr<std::shared_ptr<std::byte>> Reference::OnDevice(const Value& value) {
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

absl::Status Reference::Copy(std::byte* to, const std::byte* from, int64_t bytes) {
  const absl::Status copied = bytes == 0 ? absl::OkStatus() : streams_->Copy(0, to, from, bytes);
  const absl::Status done = streams_->Synchronize();
  RETURN_IF_ERROR(copied);
  return done;
}

}  // namespace onnx_cudnn

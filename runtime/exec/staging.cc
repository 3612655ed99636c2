#include "runtime/exec/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/run_times.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// The alignment that kernels and libraries require of every operand.
constexpr uintptr_t kOperandAlignment = 16;
constexpr int64_t kPinnedAlignment = 256;

// So that each tensor in a block is as aligned as the block.
int64_t PinnedBytes(int64_t bytes) {
  return (bytes + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment;
}

// Strings are stored outside arenas; no Step accesses them.
int64_t StagedBytes(const Value& value) {
  return value.dtype() == DType::kString ? 0 : value.bytes();
}

}  // namespace

Staging::Staging(const Graph& graph, Device& device, std::shared_ptr<PinnedPool> pool)
    : device_(device), pool_(std::move(pool)) {
  for (const Value* v : graph.inputs()) inputs_.push_back({.bytes = StagedBytes(*v)});
  for (const GraphOutput& output : graph.outputs()) {
    outputs_.push_back({.bytes = StagedBytes(*output.value)});
  }
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const Tensor& t : *tensors) most_pinned_bytes_ += PinnedBytes(t.bytes);
  }
  pool_->Admit(most_pinned_bytes_);
}

Staging::~Staging() {
  End();
  pool_->Dismiss(most_pinned_bytes_);
}

absl::Status Staging::Prepare(Tensor& tensor, void* callers, Addresses addresses) {
  tensor.callers = static_cast<std::byte*>(callers);
  tensor.is_ours = tensor.on_host = false;
  if (tensor.bytes == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool reads, device_.ReadsDirectly(callers));
  const bool aligned = reinterpret_cast<uintptr_t>(callers) % kOperandAlignment == 0;
  const bool usable = reads && (aligned || device_.reads_host_memory());
  tensor.is_ours = addresses == Addresses::kOurs || !usable;
  tensor.on_host = !reads;
  return tensor.is_ours ? Reserve(tensor) : absl::OkStatus();
}

absl::Status Staging::Reserve(Tensor& tensor) {
  if (tensor.bytes == 0 || tensor.buffer != nullptr) return absl::OkStatus();
  const PhaseTimer timer(RunPhase::kAllocate);
  ASSIGN_OR_RETURN(tensor.buffer, device_.Allocate(tensor.bytes, Space::kDevice));
  return absl::OkStatus();
}

absl::Status Staging::Reserve() {
  for (auto* tensors : {&inputs_, &outputs_}) {
    for (Tensor& tensor : *tensors) RETURN_IF_ERROR(Reserve(tensor));
  }
  return absl::OkStatus();
}

// One block for all tensors; a Run that prepares a second time keeps it.
absl::Status Staging::Borrow() {
  int64_t bytes = 0;
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const Tensor& t : *tensors) bytes += t.on_host ? PinnedBytes(t.bytes) : 0;
  }
  if (bytes == 0) return absl::OkStatus();
  if (borrowed_ == nullptr) {
    ASSIGN_OR_RETURN(borrowed_, pool_->Borrow(bytes));
  }
  std::byte* next = borrowed_.get();
  for (auto* tensors : {&inputs_, &outputs_}) {
    for (Tensor& t : *tensors) {
      t.pinned = next;
      next += t.on_host ? PinnedBytes(t.bytes) : 0;
    }
  }
  return absl::OkStatus();
}

absl::Status Staging::Prepare(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                              Addresses addresses) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(Prepare(inputs_[i], const_cast<void*>(inputs[i]), addresses));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(Prepare(outputs_[i], outputs[i], addresses));
  }
  RETURN_IF_ERROR(Borrow());
  const PhaseTimer timer(RunPhase::kCopy);
  for (const Tensor& t : inputs_) {
    if (t.on_host) std::memcpy(t.pinned, t.callers, t.bytes);
  }
  return absl::OkStatus();
}

bool Staging::touches_host() const {
  const auto on_host = [](const Tensor& t) { return t.on_host; };
  return std::any_of(inputs_.begin(), inputs_.end(), on_host) ||
         std::any_of(outputs_.begin(), outputs_.end(), on_host);
}

absl::Status Staging::CopyIn(StreamSet& streams) const {
  for (const Tensor& t : inputs_) {
    if (!t.is_ours) continue;
    RETURN_IF_ERROR(streams.Copy(/*stream=*/0, t.buffer.get(), t.other_end(), t.bytes));
  }
  return absl::OkStatus();
}

absl::Status Staging::CopyOut(StreamSet& streams) const {
  for (const Tensor& t : outputs_) {
    if (!t.is_ours) continue;
    RETURN_IF_ERROR(streams.Copy(/*stream=*/0, t.other_end(), t.buffer.get(), t.bytes));
  }
  return absl::OkStatus();
}

void Staging::Deliver() const {
  const PhaseTimer timer(RunPhase::kCopy);
  for (const Tensor& t : outputs_) {
    if (t.on_host) std::memcpy(t.callers, t.pinned, t.bytes);
  }
}

int64_t Staging::bytes() const {
  int64_t bytes = 0;
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const Tensor& t : *tensors) bytes += t.buffer != nullptr ? t.bytes : 0;
  }
  return bytes;
}

int64_t Staging::BytesOfOurs(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t.is_ours ? t.bytes : 0;
  return bytes;
}

int64_t Staging::bytes_copied_in() const { return BytesOfOurs(inputs_); }
int64_t Staging::bytes_copied_out() const { return BytesOfOurs(outputs_); }

int64_t StagingBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value* v : graph.inputs()) bytes += StagedBytes(*v);
  for (const GraphOutput& output : graph.outputs()) bytes += StagedBytes(*output.value);
  return 2 * bytes;  // on the device and in pinned memory
}

}  // namespace onnx_cudnn

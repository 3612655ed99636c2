#include "runtime/kernels/cuda/common/kernel_step.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/cuda/launch.h"
#include "runtime/kernels/cuda/common/tensor_maps.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostParameterBytes = 4096;  // CUDA's limit
// Compute capability from which launches use programmatic dependent launch: each of our kernels
// waits for the preceding launch itself (dependent_launch.cuh).
constexpr int kLeastPdlCapability = 90;

KernelLaunch::Extent ToExtent(const LaunchShape::Extent& e) { return {e.x, e.y, e.z}; }

KernelLaunch LaunchOf(const KernelCall& call, bool uses_pdl) {
  return {.function = call.function,
          .grid = ToExtent(call.shape.grid),
          .block = ToExtent(call.shape.block),
          .shared_bytes = call.shape.shared_bytes,
          .cluster = call.shape.cluster,
          .uses_pdl = uses_pdl};
}

std::byte* AddressOf(const Slot& slot, const LaunchArgs& args) {
  const void* base = nullptr;
  switch (slot.kind) {
    case Slot::Kind::kInput:
      base = args.in[slot.index];
      break;
    case Slot::Kind::kOutput:
      base = args.out[slot.index];
      break;
    case Slot::Kind::kConstant:
      base = args.constants[slot.index];
      break;
    case Slot::Kind::kWorkspace:
      base = args.workspace;
      break;
    case Slot::Kind::kFault:
      base = args.fault;
      break;
  }
  return static_cast<std::byte*>(const_cast<void*>(base)) + slot.offset;
}

absl::Status LaunchKernelCall(const KernelCall& call, bool uses_pdl, bool next_uses_pdl,
                              const LaunchArgs& args) {
  alignas(64) std::byte parameters[kMostParameterBytes];
  std::memcpy(parameters, call.parameters.data(), call.parameters.size());
  for (const KernelCall::Address& address : call.addresses) {
    const std::byte* pointer = AddressOf(address.slot, args);
    std::memcpy(parameters + address.at, &pointer, sizeof(pointer));
  }
  for (const KernelCall::Map& map : call.maps) {
    ASSIGN_OR_RETURN(const TensorMapBytes bytes,
                     EncodeTensorMap(map.map, AddressOf(map.slot, args)));
    std::memcpy(parameters + map.at, &bytes, sizeof(bytes));
  }
  if (call.next_uses_pdl_at)
    std::memcpy(parameters + *call.next_uses_pdl_at, &next_uses_pdl, sizeof(bool));
  void* arguments[] = {parameters};
  return LaunchKernel(LaunchOf(call, uses_pdl), arguments, args.stream);
}

// Nothing for an output in its input's memory.
absl::Status Copy(void* to, const void* from, int64_t bytes, StreamRef stream) {
  return to == from ? absl::OkStatus() : CopyAsync(to, from, bytes, stream);
}

bool HasFault(const KernelCode& code) {
  for (const KernelCall& call : code.calls) {
    for (const KernelCall::Address& address : call.addresses) {
      if (address.slot.kind == Slot::Kind::kFault) return true;
    }
  }
  return false;
}

class KernelStep final : public Step {
 public:
  KernelStep(KernelCode code, bool uses_pdl)
      : code_(std::move(code)), uses_pdl_(uses_pdl), may_fault_(HasFault(code_)) {}

  int64_t workspace_bytes() const override { return code_.workspace_bytes; }
  absl::Span<const Derived> constants() const override { return code_.constants; }
  bool may_fault() const override { return may_fault_; }
  bool uses_pdl() const override { return !code_.calls.empty() && UsesPdl(0); }
  absl::Status Fault(uint64_t word) const override {
    return code_.fault == nullptr ? Step::Fault(word) : code_.fault(word);
  }
  std::string Save() const override { return ""; }

  absl::Status Launch(const LaunchArgs& args) const override {
    for (size_t i = 0; i < code_.calls.size(); ++i) {
      const bool is_last = i + 1 == code_.calls.size();
      RETURN_IF_ERROR(Make(code_.calls[i], is_last ? args.next_uses_pdl : UsesPdl(i + 1), args));
    }
    return absl::OkStatus();
  }

 private:
  // Copies, fills and empty grids do not.
  bool UsesPdl(size_t call) const {
    const KernelCall& c = code_.calls[call];
    const LaunchShape::Extent& grid = c.shape.grid;
    return uses_pdl_ && c.kind == KernelCall::Kind::kLaunch && grid.x * grid.y * grid.z > 0;
  }

  absl::Status Make(const KernelCall& call, bool next_uses_pdl, const LaunchArgs& args) const {
    switch (call.kind) {
      case KernelCall::Kind::kLaunch:
        return LaunchKernelCall(call, uses_pdl_, next_uses_pdl, args);
      case KernelCall::Kind::kCopy:
        return Copy(AddressOf(call.addresses[0].slot, args),
                    AddressOf(call.addresses[1].slot, args), call.bytes, args.stream);
      case KernelCall::Kind::kFill:
        return FillAsync(AddressOf(call.addresses[0].slot, args), call.value, call.bytes,
                         args.stream);
    }
    return absl::InternalError("a kernel call of no kind");
  }

  const KernelCode code_;
  const bool uses_pdl_;
  const bool may_fault_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Step>> MakeKernelStep(KernelCode code,
                                                           const DeviceInfo& device) {
  const bool uses_pdl = device.compute_capability >= kLeastPdlCapability;
  for (const KernelCall& call : code.calls) {
    if (call.kind == KernelCall::Kind::kLaunch) {
      RETURN_IF_ERROR(PrepareKernel(LaunchOf(call, uses_pdl)));
    }
  }
  return std::make_shared<KernelStep>(std::move(code), uses_pdl);
}

}  // namespace onnx_cudnn

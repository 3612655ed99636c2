// The code of our kernels: FAMILY/NAME.cc compiles the Nodes that the rules in
// runtime/kernels/FAMILY/NAME.cc accept. NAME.cu holds the device code and selects its template
// instances.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Nodes that the rules accepted, with the Formats of their operands (parallel to unit.boundary).
struct KernelRequest {
  const Unit& unit;
  const Candidate& candidate;
  const Target& target;
  std::string_view variant;  // one of Kernel::variants; empty: the kernel has only one
};

// The launches of one of our Steps, in order. Holds no Node, Value or weight.
struct KernelCode {
  std::vector<KernelCall> calls;
  std::vector<Derived> constants;  // indexed by Slot::Constant
  int64_t workspace_bytes = 0;
  // The error for a nonzero fault word, without the Node's name. Empty: no call has a Slot::Fault.
  std::function<absl::Status(uint64_t word)> fault;
};

// Unimplemented: the kernel refuses (the message is the reason); any other error is a failure.
using CompileKernel = absl::StatusOr<KernelCode> (*)(const KernelRequest& request);

#define KERNEL(kernel, name) \
  absl::StatusOr<KernelCode> Compile##kernel(const KernelRequest& request);
#include "runtime/kernels/kernels.inc"
#undef KERNEL

// Reformat and Transfer (conversion.h).
absl::StatusOr<KernelCode> CompileConversion(const KernelRequest& request);

}  // namespace onnx_cudnn

// Runs the result of CompileNAME on the host, and compares it with the references of its Nodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "tests/emulator/emulator.h"

namespace onnx_cudnn::emulator {

// Memory whose end (rounded up to 16 bytes) is at an inaccessible page.
class GuardedMemory {
 public:
  explicit GuardedMemory(int64_t bytes);
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> pages_;
  std::byte* data_;
  int64_t bytes_;
};

struct CodeOperands {
  std::vector<std::byte*> inputs, outputs, constants;
  std::byte* workspace = nullptr;
  uint64_t* fault = nullptr;
};

// Launches every call in order. Internal: the emulator or a CUDA device would reject something.
absl::Status RunCode(const KernelCode& code, const CodeOperands& operands,
                     const Schedule& schedule);

// For results of `dtype`, relative to the largest magnitude: 16-bit floats are rounded on both
// sides, and sums are in f32.
//   of_f32  also that of integers
inline double ToleranceOf(DType dtype, double of_f32) {
  if (dtype == DType::kF16) return 2e-3;
  if (dtype == DType::kBF16) return 1.6e-2;
  return dtype == DType::kF64 ? 1e-12 : of_f32;
}

// Runs `code`, compiled from `candidate`, in both orders with asynchronous work done late, and once
// with it done at random, on `inputs` (row-major, parallel to the Candidate's inputs), with outputs
// and workspace filled with NaN, and compares with the references.
//   tolerance  relative to the largest magnitude of an output's reference
//   returns    "" if every element agrees, padding lanes are zero, foreign lanes unchanged and all
//              runs equal, or if the references fail with the same error as `code` or its fault;
//              otherwise what was wrong
std::string CompareWithReference(const absl::StatusOr<KernelCode>& code, const Candidate& candidate,
                                 const std::vector<HostTensor>& inputs, double tolerance);

}  // namespace onnx_cudnn::emulator

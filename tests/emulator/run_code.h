// Runs what CompileNAME made on the host, and holds it against the references of its Nodes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "tests/emulator/emulator.h"

namespace onnx_cudnn::emulator {

// Memory whose last bytes (rounded up to 16) end at a page that nobody may touch.
class GuardedMemory {
 public:
  explicit GuardedMemory(int64_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* pages_;
  size_t page_bytes_;
  std::byte* data_;
  int64_t bytes_;
};

struct CodeOperands {
  std::vector<std::byte*> inputs, outputs, constants;
  std::byte* workspace = nullptr;
  uint64_t* fault = nullptr;
};

// Launches every call in order. Internal: what the emulator or a CUDA device would refuse.
absl::Status RunCode(const KernelCode& code, const CodeOperands& operands,
                     const Schedule& schedule);

// Runs `code`, of `candidate`, in both orders with asynchronous work done late, and once with it
// done by chance, on `inputs` (row-major, parallel to the Candidate's inputs), with outputs and
// workspace full of NaN before, and compares with the references.
//   tolerance  relative to the largest magnitude of an output's reference
//   returns    "" when every element agrees, padding lanes are zero, foreign lanes untouched and
//              all runs equal; "" too where the references end with the error that `code` is or
//              that its fault means; else what was wrong
std::string CompareWithReference(const absl::StatusOr<KernelCode>& code, const Candidate& candidate,
                                 const std::vector<HostTensor>& inputs, double tolerance);

}  // namespace onnx_cudnn::emulator

// The one table of cuBLASLt's functions: a host without the library starts, and a test can put a
// fake below it or make the N-th call fail.
#pragma once

#include <cublasLt.h>

#include <string_view>

#include "absl/status/status.h"

// LT_STATUS(cublasLtMatmulDescDestroy, desc): makes the call through the table.
#define LT_STATUS(name, ...) ::onnx_cudnn::LtStatus(::onnx_cudnn::Lt().name(__VA_ARGS__), #name)

namespace onnx_cudnn {

struct LtCalls {
#define LT_CALL(name) decltype(&::name) name = nullptr;
#include "runtime/gemm/cuda/lt_calls.inc"
#undef LT_CALL
};

// Opens libcublasLt, once in the life of the process; its answer is kept. Nothing to do while a
// test's table is in place.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to install
absl::Status LoadLt();

// The table in use; only after LoadLt succeeded.
const LtCalls& Lt();

// Puts `calls` in place for the whole process while it lives; for tests. `calls` must outlive it.
class ScopedLtCalls {
 public:
  explicit ScopedLtCalls(const LtCalls& calls);
  ~ScopedLtCalls();
  ScopedLtCalls(const ScopedLtCalls&) = delete;
  ScopedLtCalls& operator=(const ScopedLtCalls&) = delete;

 private:
  const LtCalls* before_;
};

// "CUBLAS_STATUS_NOT_SUPPORTED".
std::string_view NameOf(cublasStatus_t status);

// Whether `status` says that cuBLASLt does not do what was asked, which is an answer; else a call
// failed.
bool IsRefusal(cublasStatus_t status);

// "call: CUBLAS_STATUS_…": ResourceExhausted for memory, FailedPrecondition on a lost device, else
// Internal; ok for success.
absl::Status LtStatus(cublasStatus_t status, std::string_view call);

}  // namespace onnx_cudnn

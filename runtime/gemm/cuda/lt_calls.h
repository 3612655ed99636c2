// The only table of cuBLASLt functions: a host without the library can start the program, and a
// test can insert a fake or make the N-th call fail.
#pragma once

#include <cublasLt.h>

#include <string_view>

#include "absl/status/status.h"
#include "runtime/base/scoped_calls.h"

// LT_STATUS(cublasLtMatmulDescDestroy, desc): makes the call through the table.
#define LT_STATUS(name, ...) ::onnx_cudnn::LtStatus(::onnx_cudnn::Lt().name(__VA_ARGS__), #name)

namespace onnx_cudnn {

struct LtCalls {
#define LT_CALL(name) decltype(&::name) name = nullptr;
#include "runtime/gemm/cuda/lt_calls.inc"
#undef LT_CALL
};

// Opens libcublasLt once per process and keeps the result. Does nothing while a test's table is in
// place.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to install
absl::Status LoadLt();

// The table in use; valid only after LoadLt has succeeded.
const LtCalls& Lt();

// Puts `calls` in use and returns the table before it.
const LtCalls* Exchange(const LtCalls* calls);
using ScopedLtCalls = ScopedCalls<LtCalls, Exchange>;

// "CUBLAS_STATUS_NOT_SUPPORTED".
std::string_view NameOf(cublasStatus_t status);

// Whether `status` means that cuBLASLt does not support the request, which is an answer; any other
// status is a failed call.
bool IsRefusal(cublasStatus_t status);

// "call: CUBLAS_STATUS_…". ResourceExhausted for memory, FailedPrecondition on a lost device,
// Internal otherwise; OK for success.
absl::Status LtStatus(cublasStatus_t status, std::string_view call);

}  // namespace onnx_cudnn

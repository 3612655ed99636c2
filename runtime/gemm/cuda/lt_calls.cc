#include "runtime/gemm/cuda/lt_calls.h"

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/find_library.h"

namespace onnx_cudnn {
namespace {

std::atomic<const LtCalls*> current{nullptr};

absl::StatusOr<LtCalls> FindCalls() {
  const StartScope scope("open cuBLASLt");
  ASSIGN_OR_RETURN(const FoundLibrary library, OpenLibrary(CublasLtLibrary()));
  LtCalls calls;
#define LT_CALL(name) RETURN_IF_ERROR(FindFunction(library, #name, calls.name));
#include "runtime/gemm/cuda/lt_calls.inc"
#undef LT_CALL
  return calls;
}

}  // namespace

absl::Status LoadLt() {
  if (current.load() != nullptr) return absl::OkStatus();
  static const auto& found = *new absl::StatusOr<LtCalls>(FindCalls());
  RETURN_IF_ERROR(found.status());
  const LtCalls* none = nullptr;
  current.compare_exchange_strong(none, &*found);
  return absl::OkStatus();
}

const LtCalls& Lt() { return *current.load(std::memory_order_acquire); }

const LtCalls* Exchange(const LtCalls* calls) { return current.exchange(calls); }

// Only version 13 and later of the library provide status names.
std::string_view NameOf(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "an unknown status";
}

bool IsRefusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

absl::Status LtStatus(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string text = absl::StrCat(call, ": ", NameOf(status));
  // The CUDA runtime's error, if it caused the failure.
  const absl::Status cuda = CudaStatus(Cuda().cudaGetLastError(), call);
  if (absl::IsFailedPrecondition(cuda) || DeviceIsLost()) return LostStatus(text);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

}  // namespace onnx_cudnn

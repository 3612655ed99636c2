// Functions of the driver, which the CUDA runtime looks up.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"

namespace onnx_cudnn {

// The driver's function `name`, as of CUDA 12.0.
//   errors  FailedPrecondition: the driver has no such function
template <typename Function>
absl::StatusOr<Function> DriverFunction(const char* name) {
  constexpr unsigned kSince = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  RETURN_IF_ERROR(CUDA_STATUS(cudaGetDriverEntryPointByVersion, name, &function, kSince,
                              cudaEnableDefault, &result));
  if (result == cudaDriverEntryPointSuccess) return reinterpret_cast<Function>(function);
  return absl::FailedPreconditionError(
      absl::StrCat("the driver has no ", name, ": install one of CUDA 12 or later"));
}

}  // namespace onnx_cudnn

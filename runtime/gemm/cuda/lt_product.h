#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/cuda/handles.h"
#include "runtime/gemm/cuda/lower.h"
#include "runtime/gemm/cuda/lt_calls.h"

namespace onnx_cudnn {

ONNX_CUDNN_HANDLE(LtHandle, cublasLtHandle_t, LT_STATUS, cublasLtDestroy)
ONNX_CUDNN_HANDLE(LtDescriptor, cublasLtMatmulDesc_t, LT_STATUS, cublasLtMatmulDescDestroy)
ONNX_CUDNN_HANDLE(LtLayout, cublasLtMatrixLayout_t, LT_STATUS, cublasLtMatrixLayoutDestroy)
ONNX_CUDNN_HANDLE(LtPreference, cublasLtMatmulPreference_t, LT_STATUS,
                  cublasLtMatmulPreferenceDestroy)

// A cuBLASLt algorithm for a product.
struct LtAlgorithm {
  cublasLtMatmulAlgo_t algorithm = {};
  int64_t workspace_bytes = 0;
  std::string text;    // "lt algo=66 tile=20 stages=36 splitk=1 …": equal settings, equal text
  std::string kernel;  // what a launch loads
};

// Its bytes, for this version of cuBLASLt.
std::string SavedText(const LtAlgorithm& algorithm);

// The pointers of a launch. C may be D.
struct LtPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;
};

// The cuBLASLt descriptors of a problem. Thread-safe.
class LtProduct {
 public:
  static absl::StatusOr<std::unique_ptr<LtProduct>> Create(const LtProblem& problem,
                                                           const Numerics& numerics);

  // The algorithms that cuBLASLt's heuristics return, the best first, without duplicates; at most
  // 8, each with at most 32 MiB of workspace. None rounds partial sums to the result type, and none
  // depends on the order in which blocks end unless the Numerics allow it.
  //   errors  Unimplemented: there is none (a refusal)
  absl::StatusOr<std::vector<LtAlgorithm>> Algorithms(cublasLtHandle_t handle) const;

  // The algorithm that SavedText describes, without a question to the heuristics.
  //   errors  InvalidArgument: no such text. Unimplemented: not one for this product, or of another
  //           version of cuBLASLt
  absl::StatusOr<LtAlgorithm> Restore(cublasLtHandle_t handle, std::string_view saved) const;

  // Asynchronous on `stream`.
  absl::Status Launch(cublasLtHandle_t handle, const LtAlgorithm& algorithm,
                      const LtPointers& pointers, cudaStream_t stream) const;

 private:
  LtProduct(const LtProblem& problem, const Numerics& numerics);
  absl::Status Describe(const LtProblem& problem);

  const std::string kind_;  // which of an algorithm's kernels it needs
  const bool tf32_, nondeterminism_;
  const bool has_bias_;
  const float alpha_, beta_;
  // Held during a launch, because the address of the bias is an attribute of the descriptor.
  mutable absl::Mutex mutex_;
  LtDescriptor descriptor_ ABSL_GUARDED_BY(mutex_);
  LtLayout a_, b_, d_;
};

}  // namespace onnx_cudnn

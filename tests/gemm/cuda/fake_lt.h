// A fake cuBLASLt over host memory: computes what its descriptors describe, column by column.
#pragma once

#include <string>
#include <vector>

#include "runtime/gemm/cuda/lt_calls.h"

namespace onnx_cudnn {

struct FakeLtOptions {
  // Returned by the heuristics; the second is listed twice, the last has failed.
  int algorithms = 3;
  // The index of the call that fails, from 0, and its status; negative: none. A failing release
  // still releases.
  int fail_at = -1;
  cublasStatus_t error = CUBLAS_STATUS_INTERNAL_ERROR;
};

// Active while it lives. One at a time.
class FakeLt {
 public:
  explicit FakeLt(const FakeLtOptions& options = {});
  ~FakeLt();

  int calls() const;
  int questions() const;                     // to the heuristics
  std::string failed_call() const;           // empty: none failed
  int held() const;                          // handles, descriptors, layouts and preferences
  cublasComputeType_t compute_type() const;  // of the last descriptor
  uint64_t last_algorithm() const;           // that was launched, from 60 on
  // From the last preference passed in.
  uint32_t reduction_schemes() const;
  uint64_t workspace_bytes() const;
  uint32_t alignment_of_a() const;

 private:
  ScopedLtCalls scope_;
};

}  // namespace onnx_cudnn

// A cuBLASLt over host memory: computes what its descriptors say, column by column.
#pragma once

#include <string>
#include <vector>

#include "runtime/gemm/cuda/lt_calls.h"

namespace onnx_cudnn {

struct FakeLtOptions {
  int algorithms = 3;  // that the heuristics know; the second is named twice, the last has failed
  // The call that fails, from 0, and with what; none when negative. A release that fails releases
  // all the same.
  int fail_at = -1;
  cublasStatus_t error = CUBLAS_STATUS_INTERNAL_ERROR;
};

// In place while it lives. One at a time.
class FakeLt {
 public:
  explicit FakeLt(const FakeLtOptions& options = {});
  ~FakeLt();

  int calls() const;
  std::string failed_call() const;           // empty: none failed
  int held() const;                          // handles, descriptors, layouts and preferences
  cublasComputeType_t compute_type() const;  // of the last descriptor
  // Of the last preference that was asked with.
  uint32_t reduction_schemes() const;
  uint64_t workspace_bytes() const;
  uint32_t alignment_of_a() const;

 private:
  ScopedLtCalls scope_;
};

}  // namespace onnx_cudnn

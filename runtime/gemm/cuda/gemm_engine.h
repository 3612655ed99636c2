#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `gemm` with its CUDA half: the rules of MakeGemmRules(), products by cuBLASLt. Opens
// libcublasLt and creates a handle on the device, whose context must be open.
//   ordinal  of the device, which is current on every thread that compiles or launches
//   errors   FailedPrecondition, one line: libcublasLt is missing; otherwise the failure of a call
absl::StatusOr<std::unique_ptr<Engine>> MakeGemmEngine(int ordinal);

}  // namespace onnx_cudnn

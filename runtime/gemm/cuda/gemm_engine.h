#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `gemm` with its CUDA half: the rules of MakeGemmRules(), products by cuBLASLt. Opens
// libcublasLt and makes a handle on the device, whose context is open.
//   ordinal  of the device that is current on every thread that compiles or launches
//   errors   FailedPrecondition, one line: no libcublasLt; else what a call failed with
absl::StatusOr<std::unique_ptr<Engine>> MakeGemmEngine(int ordinal);

}  // namespace onnx_cudnn

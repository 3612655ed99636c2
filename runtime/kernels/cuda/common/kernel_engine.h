#pragma once

#include <memory>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

// The Engine `kernel` on a GPU. A Variant is the name of a kernel, optionally followed by one of
// the kernel's variants.
std::unique_ptr<Engine> MakeCudaKernels();

// The launches of the Step for `variant`.
//   errors  Unimplemented: the kernel refuses; InvalidArgument: no kernel has the Variant's name
absl::StatusOr<KernelCode> CompileVariant(const Candidate& candidate, const Variant& variant,
                                          const Target& target);

}  // namespace onnx_cudnn

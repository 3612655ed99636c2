#pragma once

#include <memory>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

// The Engine `kernel` on a GPU. A Variant is a kernel's name, or its name and one of its own
// variants.
std::unique_ptr<Engine> MakeCudaKernels();

// What its Step of `variant` launches.
//   errors  Unimplemented: the kernel refuses; InvalidArgument: no kernel has the Variant's name
absl::StatusOr<KernelCode> CompileVariant(const Candidate& candidate, const Variant& variant,
                                          const Target& target);

}  // namespace onnx_cudnn

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/pass.h"

namespace onnx_cudnn {

// The ordered lists of rewrites. Level 0: only what running needs; 1: clean-up; 2: also rewrites
// that change arithmetic (BatchNorm into Conv …).
//   products  f16 or bf16: f32 arithmetic is lowered to that type as rewrite/lower_precision.cc
//             describes, at any level; f32: it is not lowered
std::vector<std::unique_ptr<Pass>> MakePipeline(int level, DType products = DType::kF32);
// Passes by name, in the given order; InvalidArgument names an unknown pass and lists the known
// ones.
absl::StatusOr<std::vector<std::unique_ptr<Pass>>> MakePasses(absl::Span<const std::string> names);
std::vector<std::string> PassNames();

}  // namespace onnx_cudnn

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/pass.h"

namespace onnx_cudnn {

// The ordered lists of rewrites: 0 only what running needs, 1 clean-up, 2 what moves arithmetic
// (BatchNorm into Conv …).
std::vector<std::unique_ptr<Pass>> MakePipeline(int level);
// Passes by name, in the given order; InvalidArgument names the unknown one and lists those there
// are.
absl::StatusOr<std::vector<std::unique_ptr<Pass>>> MakePasses(absl::Span<const std::string> names);
std::vector<std::string> PassNames();

}  // namespace onnx_cudnn

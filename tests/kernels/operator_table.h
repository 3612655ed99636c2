// docs/operators.md, made from the definitions of ops, ONNX's schemas and the Engines' rules.
#pragma once

#include <string>

namespace onnx_cudnn {

// The page: for each op its opset versions, its types, and what runs it in a Program for h200. Each
// case row (tests/ops/cases.h) is tried with each type for its first input.
std::string OperatorPage();

}  // namespace onnx_cudnn

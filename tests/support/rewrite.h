#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {

// Runs `pass` over the Graph of `before` (ONNX's textual syntax) and expects that it changed it
// into what prints as `after`, that the result verifies, and that a second run changes nothing.
// White space counts as one blank.
void ExpectRewrite(std::unique_ptr<Pass> pass, std::string_view before, std::string_view after);

// Expects that `pass` changes nothing and that one of its remarks holds `reason`; "" is: there is
// no remark at all.
void ExpectNoRewrite(std::unique_ptr<Pass> pass, std::string_view before, std::string_view reason);

// Expects that `pass` changes the Graph of `text`, whose output 0 is f32, and that this output
// keeps its dims and, to within `tolerance`, its numbers.
void ExpectSameNumbers(std::unique_ptr<Pass> pass, std::string_view text, float tolerance);

// Expects that BindShapes makes of the Graph of `text` what prints as `after`.
void ExpectBound(std::string_view text, const InputDims& dims, std::string_view after);

// What Print says of the Graph, white space as one blank.
std::string PrintOnOneLine(const Graph& graph);

}  // namespace onnx_cudnn

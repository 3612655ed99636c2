// A Program as text, for comparing two.
#pragma once

#include <string>

#include "runtime/plan/program.h"

namespace onnx_cudnn {

// What it runs: a line a Step in the order of launches, with stream, waits, engine, variant, Nodes,
// and the Format and place of each operand; then the arenas and the number of streams.
std::string ProgramText(const Program& program);

}  // namespace onnx_cudnn

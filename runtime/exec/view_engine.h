#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `view`: Nodes whose output is their input's bytes, at no cost. Reshape, Flatten,
// Squeeze, Unsqueeze, Identity, inference Dropout and Transposes that move no bytes, row-major in
// and out; Identity, Dropout and Reformat also between equal Formats. Never where the output is a
// graph output or the input a constant.
std::unique_ptr<Engine> MakeViewEngine();

}  // namespace onnx_cudnn

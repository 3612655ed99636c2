#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `view`: Nodes whose output is their input's bytes, at no cost. Reshape, Flatten,
// Squeeze, Unsqueeze, Identity, inference Dropout and Transposes that move no bytes, row-major in
// and out; Identity, Dropout and Reformat also between equal Formats. Slice and Split where every
// output is one run of the input's bytes, Concat where every input can be written right into the
// output; a Slice or Split leaves such an input to the Concat. Parts begin at multiples of 16
// bytes. Never where the output is a graph output or the input a constant.
std::unique_ptr<Engine> MakeViewEngine();

}  // namespace onnx_cudnn

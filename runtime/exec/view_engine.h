#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `view`: Nodes whose output is their input's bytes, at no cost.
//   Reshape, Flatten, Squeeze, Unsqueeze, Identity, inference Dropout: row-major in and out
//   these and Transpose: between Formats that differ only in the names of their axes, so that a
//   Squeeze keeps channels last
//   Reformat: between equal Formats
//   Slice, Split: where every output is one contiguous range of the input's bytes
//   Concat: where every input can be written directly to the output, contiguous or, for channels of
//   images on a GPU, with the lanes of others between its pixels; its output must not be read by a
//   Slice or Split view
// Parts begin at multiples of 16 bytes. Never where the output is a graph output or the input a
// constant.
std::unique_ptr<Engine> MakeViewEngine();

}  // namespace onnx_cudnn

#pragma once

#include <string>
#include <vector>

#include "passes/cut_graph.h"

namespace onnx_cudnn {

// Why `cut` has more parts than the segment, as a text for each Node that runs between Programs and
// for each Node of the rest that waits for the parts before it:
//   node "n" (NonZero) runs between programs: the shapes of its outputs follow from the elements of
//   "x" f32[4]
//   node "r" (Reshape) needs the elements of "counts" i64[2]
std::vector<std::string> WhyCut(GraphCut& cut);

}  // namespace onnx_cudnn

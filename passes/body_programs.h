#pragma once

#include "passes/build_program.h"

namespace onnx_cudnn {

// Whether the bodies of `node` are predicted to take less time as Programs of their own, between
// those of `graph`, than in one Program with it, where the host runs them by references. Only for
// an If, or a Scan with iterations, of static types.
bool RunsFasterAsPrograms(const Graph& graph, const Node& node, const BuildOptions& options);

}  // namespace onnx_cudnn

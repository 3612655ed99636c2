#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Our function for an op whose ONNX function is wrong or less exact than the op: AffineGrid (no
// support for a grid of batch 1, NaN along axes of one element with align_corners) and the windows
// (always f32). Inputs and outputs are those of the schema.
//   node     with types; for AffineGrid static ones
//   returns  nullopt: ONNX's function is correct
//   errors   InvalidArgument: theta and size of AffineGrid do not match
absl::StatusOr<std::optional<onnx::FunctionProto>> OwnFunction(const Node& node);

}  // namespace onnx_cudnn

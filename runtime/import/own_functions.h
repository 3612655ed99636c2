#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// A function of ours for an op whose function in ONNX is wrong or less exact than the op:
// AffineGrid (no grid of batch 1, NaN along axes of one element where corners are aligned) and the
// windows (f32 whatever the output). Its inputs and outputs are the schema's.
//   node     with types; AffineGrid with static ones
//   returns  nullopt: ONNX's is right
//   errors   InvalidArgument: AffineGrid's theta and size do not fit each other
absl::StatusOr<std::optional<onnx::FunctionProto>> OwnFunction(const Node& node);

}  // namespace onnx_cudnn

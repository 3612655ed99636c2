// What nodes of a graph read of each other and of the graphs around, by name.
#pragma once

#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"

namespace onnx_cudnn {

// The names that `graph` and its bodies read and nothing in it defines, in order of first use, each
// once. A name that a graph defines anywhere is its own.
std::vector<std::string_view> FreeNames(const onnx::GraphProto& graph);
// Those of all bodies of `node`.
std::vector<std::string_view> FreeNames(const onnx::NodeProto& node);

// Indices of all nodes, producers first: each node stands behind those it waits for and otherwise
// as the file has it.
//   reads   the nodes that node i reads from
//   errors  InvalidArgument: a cycle, naming a node on it or behind it
absl::StatusOr<std::vector<int>> NodeOrder(const onnx::GraphProto& graph,
                                           const std::vector<std::vector<int>>& reads);

// node "conv1" (Conv), for messages.
std::string Where(const onnx::NodeProto& node);

}  // namespace onnx_cudnn

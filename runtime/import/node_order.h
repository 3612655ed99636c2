// Dependencies by name between the nodes of a graph, and on the surrounding graphs.
#pragma once

#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"

namespace onnx_cudnn {

// The names that `graph` and its bodies read but `graph` does not define, in order of first use,
// without duplicates. A name that a graph defines anywhere refers to that definition.
std::vector<std::string_view> FreeNames(const onnx::GraphProto& graph);
// The free names of all bodies of `node`.
std::vector<std::string_view> FreeNames(const onnx::NodeProto& node);

// Indices of all nodes, producers first; otherwise in the order of the file.
//   reads   the nodes that node i reads from
//   errors  InvalidArgument: a cycle; names a node on the cycle or after it
absl::StatusOr<std::vector<int>> NodeOrder(const onnx::GraphProto& graph,
                                           const std::vector<std::vector<int>>& reads);

// node "conv1" (Conv), for messages.
std::string Where(const onnx::NodeProto& node);

}  // namespace onnx_cudnn

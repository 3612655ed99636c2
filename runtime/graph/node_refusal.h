#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace onnx_cudnn {

// A Node that does not run, and why. It outlives its Graph.
struct NodeRefusal {
  std::string node;        // its name, or that of its first output
  std::string domain, op;  // as in Node
  int opset = 0;           // of the model file
  absl::Status why;        // the message does not name the node again
  int id = -1;             // in the Graph that was checked; -1: it is not in a Graph
};

class Node;
NodeRefusal RefusalOf(const Node& node, const absl::Status& why);

// Whether `status` says that a node does not run: Unimplemented or InvalidArgument. Others are
// failures of the program, such as no memory left.
bool IsRefusal(const absl::Status& status);

// The nodes that the loader refused.
struct LoadRefusals {
  std::vector<NodeRefusal> nodes;  // in the order of the file, those of a body before its owner
  // The names of the Graph's inputs that stand for their outputs, of the types that the file's
  // value_info declares, and of the Graph's outputs that stand for their inputs.
  std::set<std::string, std::less<>> inputs, outputs;
};

}  // namespace onnx_cudnn

// The op Gradient, which is replaced by the Nodes that compute it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Whether the node is the op Gradient of domain ai.onnx.preview.training.
bool IsGradient(const onnx::NodeProto& node);
// The values that the attributes of a Gradient name; they are defined before it.
std::vector<std::string_view> NamesIn(const onnx::NodeProto& gradient);

// Appends the Nodes that compute a Gradient: copies the Nodes between the tensors named by xs and
// zs and the one named by y, applies the copies to the Gradient's inputs, and differentiates them.
// A y with many elements counts as their sum; inputs on which y does not depend have the gradient
// 0.
//   spec     the Gradient, with its domain and opset
//   find     returns the Value of a name
//   budget   Nodes that all Gradients of a model may still visit or add; reduced by this call
//   returns  parallel to spec.outputs, nullptr where one is absent
//   errors   InvalidArgument: it does not match the op's schema, or y is not of a float type.
//            Unimplemented: an op without a known gradient, with its opset and type; the budget is
//            used up
absl::StatusOr<std::vector<Value*>> AppendGradient(
    Graph& graph, ShapeInference& inference, const NodeSpec& spec,
    absl::FunctionRef<Value&(std::string_view name)> find, int64_t& budget);

}  // namespace onnx_cudnn

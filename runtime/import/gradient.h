// The op Gradient, which becomes the Nodes that compute it.
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

// Gradient of the domain ai.onnx.preview.training.
bool IsGradient(const onnx::NodeProto& node);
// The values that a Gradient's attributes name: they are defined before it.
std::vector<std::string_view> NamesIn(const onnx::NodeProto& gradient);

// Appends what a Gradient computes: the Nodes between the tensors that xs and zs name and the one
// that y names are copied, applied to its inputs, and differentiated. A y of many
// elements counts as their sum; what y does not depend on has the gradient 0.
//   spec     the Gradient, its domain and opset too
//   find     the Value of a name
//   budget   Nodes that all Gradients of a model may still visit or add; reduced by this call
//   returns  parallel to spec.outputs, nullptr where one is absent
//   errors   InvalidArgument: not as the op's schema wants it, y is not of floats. Unimplemented:
//            an op whose gradient is not known, with its opset and type; the budget is used up
absl::StatusOr<std::vector<Value*>> AppendGradient(
    Graph& graph, ShapeInference& inference, const NodeSpec& spec,
    absl::FunctionRef<Value&(std::string_view name)> find, int64_t& budget);

}  // namespace onnx_cudnn

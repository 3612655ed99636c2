#pragma once

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/attrs.h"
#include "runtime/import/onnx_tensor.h"

namespace onnx_cudnn {

// Converts an attribute message to an Attribute; tensors as ImportTensor does. The message must
// hold exactly what its type field states.
//   errors  InvalidArgument: it does not, or it refers to a function's attribute
//           Unimplemented: sparse tensors, lists of graphs or types; Internal: a graph
//           Without the attribute's name.
absl::StatusOr<Attribute> ImportAttribute(onnx::AttributeProto&& proto, const TensorSource& source);

// The value of a Constant node; `proto` is its only attribute.
absl::StatusOr<HostTensor> ImportConstant(onnx::AttributeProto&& proto, const TensorSource& source);

// InvalidArgument if a graph attribute does not hold exactly one graph.
absl::Status CheckGraphAttribute(const onnx::AttributeProto& proto);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/attrs.h"
#include "runtime/import/onnx_tensor.h"

namespace onnx_cudnn {

// An attribute message as an Attribute; tensors as ImportTensor. The message must hold what its
// type says and nothing else.
//   errors  InvalidArgument: it does not, or it refers to a function's attribute
//           Unimplemented: sparse tensors, lists of graphs or types; Internal: a graph
//           Without the attribute's name.
absl::StatusOr<Attribute> ImportAttribute(onnx::AttributeProto&& proto, const TensorSource& source);

// The tensor that a Constant node stands for; `proto` is its only attribute.
absl::StatusOr<HostTensor> ImportConstant(onnx::AttributeProto&& proto, const TensorSource& source);

// InvalidArgument when a graph attribute holds something else, or not one graph.
absl::Status CheckGraphAttribute(const onnx::AttributeProto& proto);

}  // namespace onnx_cudnn

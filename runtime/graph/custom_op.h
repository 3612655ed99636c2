// Ops that users' libraries define (onnx_cudnn_op.h).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn_op.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// A registered op. Lives as long as the process.
struct CustomOp {
  std::string domain, name;
  std::string library;      // path of the file
  onnx_cudnn_op functions;  // `domain` and `name` are null
};

// The registered op, or nullptr. Thread-safe.
const CustomOp* FindCustomOp(std::string_view op, std::string_view domain);
inline const CustomOp* FindCustomOp(const Node& node) {
  return node.domain().empty() ? nullptr : FindCustomOp(node.op(), node.domain());
}

// Registers all of `ops`, or none. InvalidArgument: a domain or name that is empty or ONNX's, an op
// that is registered already.
absl::Status RegisterCustomOps(std::vector<CustomOp> ops);

// An operand of a callback. An absent one has dtype kUndefined.
struct CustomOperand {
  DType dtype = DType::kUndefined;
  absl::Span<const int64_t> dims;
  void* data = nullptr;  // inputs are only read
};

// Calls of a registered op's functions for a Node; errors are those of the library,
// InvalidArgument, with the library's message.
//   inputs, outputs  parallel to the Node's

// Types of the outputs; open while those of inputs are.
absl::StatusOr<std::vector<Type>> InferCustomOp(const CustomOp& op, const Node& node);
absl::Status RunCustomOp(const CustomOp& op, const Node& node,
                         absl::Span<const CustomOperand> inputs,
                         absl::Span<const CustomOperand> outputs);
// On a CUDA stream, with operands in memory of this GPU.
absl::Status LaunchCustomOp(const CustomOp& op, const Node& node,
                            absl::Span<const CustomOperand> inputs,
                            absl::Span<const CustomOperand> outputs, int device_ordinal,
                            void* stream);
// Of a static Node; all zero if the library has no prices, or fails.
onnx_cudnn_op_price PriceOfCustomOp(const CustomOp& op, const Node& node);

// What libraries may call.
const onnx_cudnn_op_host& CustomOpHost();

}  // namespace onnx_cudnn

// What a callback gets to know about its Node, and what it answers.
struct onnx_cudnn_op_call {
  const onnx_cudnn::Node* node;
  std::vector<onnx_cudnn::Type> outputs = {};  // set by `infer`
  std::string error = {};
};

// The ops of a library that is being loaded.
struct onnx_cudnn_op_registry {
  std::string library;
  std::vector<onnx_cudnn::CustomOp> ops = {};
  absl::Status status = {};  // the first error
};

// A model's functions by name. Only functions.cc includes this.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

class FunctionTable {
 public:
  // InvalidArgument: a function is defined twice. Unimplemented: limits.functions.
  static absl::StatusOr<FunctionTable> Create(const onnx::ModelProto& model, const Limits& limits);

  // The function that `node` calls; nullptr if it is an op.
  const onnx::FunctionProto* Callee(const onnx::NodeProto& node) const;
  // Checks every function against the limit on nested calls, and `graph` against the limits on
  // nodes after expansion.
  //   errors  InvalidArgument: a function calls itself. Unimplemented: a limit
  absl::Status CheckExpansion(const onnx::GraphProto& graph);

 private:
  struct Size {
    int64_t nodes = 0, bytes = 0;
    int height = 0;  // depth of nested calls
  };
  explicit FunctionTable(const Limits& limits) : limits_(limits) {}
  absl::StatusOr<Size> SizeOf(const onnx::FunctionProto& function, int depth);
  absl::Status AddNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth,
                        Size& size);

  Limits limits_;
  std::map<std::tuple<std::string, std::string, std::string>, const onnx::FunctionProto*>
      functions_;
  std::map<const onnx::FunctionProto*, Size> sizes_;
  std::map<const onnx::FunctionProto*, bool> open_;  // functions whose measurement is in progress
};

}  // namespace onnx_cudnn

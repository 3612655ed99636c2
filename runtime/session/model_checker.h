// The two halves of CheckModel (onnx_cudnn/check_model.h), between which a caller may decide on the
// inputs' dims and values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/check_model.h"
#include "passes/build_program.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

class ModelChecker {
 public:
  using NamedDims = std::map<std::string, Dims, std::less<>>;
  using NamedHostTensors = std::map<std::string, HostTensor, std::less<>>;

  // Loads and rewrites the model. Errors as for CheckModel.
  static absl::StatusOr<ModelChecker> Load(const std::string& path, const SessionOptions& options);

  // Of the model: not the outputs of refused nodes, which the Graph has as inputs.
  const std::vector<ValueInfo>& inputs() const { return inputs_; }

  // Checks it for these inputs.
  //   dims    by name, of every input
  //   values  of inputs that decide shapes, by name
  //   errors  InvalidArgument: dims that do not fit
  absl::StatusOr<ModelCheck> Check(const NamedDims& dims, const NamedHostTensors& values) const;

 private:
  struct Found {
    std::vector<NodeRefusal> refused;
    int64_t unchecked = 0, later = 0;
    std::map<std::string, int64_t> engines;  // nodes by engine
  };

  ModelChecker() = default;
  absl::Status Optimize();
  // Notes the inputs and outputs that are no tensors.
  void CheckTypes();
  // Adds dims for the inputs that stand for outputs of refused nodes.
  NamedDims AllDims(const NamedDims& dims) const;
  // The inputs that decide shapes and have no values.
  std::vector<std::string> WantedValues(const NamedHostTensors& values) const;
  // Builds the Program and, if that is refused, asks about each node.
  absl::Status Find(const NamedDims& dims, const NamedHostTensors& values, Found& found) const;
  // Builds the first Program of a model whose shapes depend on data; false: something is refused.
  absl::StatusOr<bool> FindSegments(const NamedDims& dims, BuildOptions build, Found& found) const;
  absl::Status AskEach(const NamedDims& dims, BuildOptions build, Found& found) const;

  SessionOptions options_;
  OwnedTarget target_;
  Graph graph_;
  LoadRefusals refusals_;
  std::vector<NodeRefusal> whole_;  // of the model, without a node
  std::vector<ValueInfo> inputs_;
  int64_t file_nodes_ = 0;
};

}  // namespace onnx_cudnn

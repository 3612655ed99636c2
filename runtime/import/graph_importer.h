// Imports one graph message into one Graph. Used by import_model.cc, and by itself for bodies.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/import/check_model.h"
#include "runtime/import/functions.h"
#include "runtime/import/onnx_tensor.h"

namespace onnx_cudnn {

// Shared by all graphs of a model.
struct ModelScope {
  const TensorSource& tensors;
  const Opsets& opsets;
  const NodeOpsets& node_opsets;
  LoadRefusals* refusals = nullptr;  // as in LoadOptions
};

// Imports `proto` into `graph`, which must be empty, and moves payloads out of it. `proto` must
// outlive the importer.
class GraphImporter {
 public:
  enum class Kind : uint8_t {
    kMain,
    kBody,
    // Of an If, or a body nested in one: its shapes need not agree, since it may never run.
    kBranch,
  };

  GraphImporter(Kind kind, const ModelScope& model, onnx::GraphProto& proto, Graph& graph)
      : kind_(kind),
        model_(model),
        proto_(proto),
        graph_(graph),
        inference_(graph, kind == Kind::kBranch ? ShapeInference::Contradiction::kLeavesOpen
                                                : ShapeInference::Contradiction::kFails),
        gradient_budget_(model.tensors.limits.nodes) {}

  // Declares, before Import, what a body captures: a constant, for which the body gets its own
  // Value with the same bytes, or a Value, which becomes an input after the body's own inputs.
  void AddOuterConstant(std::string_view name, HostTensor constant);
  void AddCapture(std::string_view name, Type type);

  // payloads  of the initializers, as in ParsedModel
  absl::Status Import(absl::Span<const HostTensor> payloads);

 private:
  // What a name refers to. A constant becomes a Value of the Graph when it is first read.
  struct Definition {
    int producer = -1;  // index of the node that writes it
    bool is_input = false;
    bool is_initializer = false;
    Value* value = nullptr;
    HostTensor constant;
  };

  absl::Status Define(std::string_view name, Definition definition);
  absl::Status DefineNames();
  absl::Status DefineInitializers();
  absl::Status ImportInputs();
  absl::Status ImportInput(const onnx::ValueInfoProto& info);
  absl::Status ImportInitializers(absl::Span<const HostTensor> payloads);
  absl::Status CheckInitializer(std::string_view name, const HostTensor& tensor);
  absl::StatusOr<std::vector<int>> Order();
  absl::Status Report(int64_t done, std::string_view op) const;
  absl::Status ImportNode(onnx::NodeProto& proto, absl::Span<const std::string_view> captured);
  // `why` itself, unless refusals are collected: then the outputs of the node become inputs.
  absl::Status NoteRefusal(const onnx::NodeProto& proto, const absl::Status& why);
  bool TakesGradient(const onnx::NodeProto& proto) const;
  absl::StatusOr<int> OpsetOf(const onnx::NodeProto& proto) const;
  // Whether ops of the node's domain and opset are supported.
  Support CheckTaken(const onnx::NodeProto& proto, int opset) const;
  absl::Status ImportConstantNode(onnx::NodeProto& proto);
  absl::StatusOr<std::vector<Value*>> Append(const onnx::NodeProto& proto, NodeSpec spec);
  absl::StatusOr<NodeSpec> MakeSpec(onnx::NodeProto& proto,
                                    absl::Span<const std::string_view> captured);
  absl::StatusOr<NodeSpec> MakeCustomSpec(onnx::NodeProto& proto,
                                          absl::Span<const std::string_view> captured,
                                          NodeSpec spec);
  // Drops the outputs "saved_mean" and "saved_var" if nothing reads them.
  void DropSavedMoments(NodeSpec& spec) const;
  absl::Status ImportAttributes(onnx::NodeProto& proto, NodeSpec& spec);
  absl::Status ImportBodies(onnx::NodeProto& proto, absl::Span<const std::string_view> captured,
                            NodeSpec& spec);
  absl::Status TakeOutput(const std::string& name, Value* value);
  absl::Status ImportOutputs();
  absl::Status RefineOutput(const onnx::ValueInfoProto& info, Value& value);
  Value& Lookup(std::string_view name);
  const HostTensor& ConstantOf(std::string_view name) const;
  const onnx::ValueInfoProto* FindValueInfo(std::string_view name);

  Kind kind_;
  const ModelScope& model_;
  onnx::GraphProto& proto_;
  Graph& graph_;
  ShapeInference inference_;
  int64_t gradient_budget_;
  bool has_refusals_ = false;
  absl::flat_hash_map<std::string_view, Definition> names_;
  // Of initializers that are inputs too.
  absl::flat_hash_map<std::string_view, Type> declared_initializers_;
  std::vector<std::pair<std::string_view, HostTensor>> outer_constants_;
  std::vector<std::pair<std::string_view, Type>> captures_;
  std::vector<std::vector<std::string_view>> free_names_;  // of each node's bodies
  absl::flat_hash_set<std::string_view> read_names_;       // by nodes, bodies and outputs
  absl::flat_hash_map<std::string_view, const onnx::ValueInfoProto*>
      value_infos_;  // built at the first look-up
};

}  // namespace onnx_cudnn

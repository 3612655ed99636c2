// The data that the functions of upgrade_*.cc work on. Only they and upgrade.cc include this.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// An operation that is being converted from the file's opset to the newest one. A step changes
// `spec` to the form of its version; a step that needs Nodes after the operation appends all Nodes
// itself and calls Finish.
struct Form {
  Graph& graph;
  ShapeInference& inference;
  NodeSpec spec;
  int file_opset;
  std::optional<std::vector<Value*>> finished = std::nullopt;  // parallel to spec.outputs

  // Appends a Node before or beside the operation and returns its first output.
  absl::StatusOr<Value*> Append(NodeSpec node);
  // Appends `node` as the last Node: its first output replaces the only output of the operation and
  // takes its name.
  absl::Status Finish(NodeSpec node);

  Value* input(size_t i) const { return i < spec.inputs.size() ? spec.inputs[i] : nullptr; }
  void SetInput(size_t i, Value* value);
  // Moves attribute `name`, an integer list, to input `i`; does nothing if it is absent.
  void IntsToInput(std::string_view name, size_t i);
  Value& Ints(std::vector<int64_t> values) { return graph.AddConstant(HostTensor::Ints(values)); }
  Value& Scalar(int64_t value);
  Value& Scalar(float value);
  // Op (opset 6) on f32: reason
  absl::Status Unimplemented(std::string_view reason) const;
};

using UpgradeStep = absl::Status (*)(Form& form);

// The step that converts `op` to the form of `version`. There is one for each version that changes
// more than the number.
struct UpgradeRow {
  std::string_view op;
  int version;
  UpgradeStep step;
};

// Sorted by op, then version.
absl::Span<const UpgradeRow> UpgradeRows();

// upgrade_first.cc: to 6 and older
absl::Status UpgradeCast6(Form& form);
absl::Status UpgradeConcat4(Form& form);
absl::Status UpgradeLpPool2(Form& form);
absl::Status UpgradePad2(Form& form);
absl::Status UpgradeReshape5(Form& form);
absl::Status UpgradeSelu6(Form& form);
absl::Status UpgradeSplit2(Form& form);
absl::Status UpgradeTile6(Form& form);

// upgrade_broadcast.cc: to 7
absl::Status UpgradeLegacyBroadcast(Form& form);
absl::Status UpgradeGemm7(Form& form);
absl::Status UpgradePRelu7(Form& form);

// upgrade_inputs.cc: attributes that became inputs
absl::Status UpgradeAxesToInput(Form& form);
absl::Status UpgradeSlice10(Form& form);
absl::Status UpgradeTopK10(Form& form);
absl::Status UpgradeClip11(Form& form);
absl::Status UpgradePad11(Form& form);
absl::Status UpgradeSplit13(Form& form);
absl::Status UpgradeSplit18(Form& form);
absl::Status UpgradeDft20(Form& form);

// upgrade_norm.cc
absl::Status UpgradeBatchNormalization7(Form& form);
absl::Status UpgradeBatchNormalization9(Form& form);
absl::Status UpgradeBatchNormalization14(Form& form);
absl::Status UpgradeDropout7(Form& form);
absl::Status UpgradeDropout12(Form& form);
absl::Status UpgradeGroupNormalization21(Form& form);
absl::Status UpgradeSoftmax13(Form& form);

// upgrade_resize.cc
absl::Status UpgradeUpsample7(Form& form);
absl::Status UpgradeUpsample9(Form& form);
absl::Status UpgradeUpsample10(Form& form);
absl::Status UpgradeResize11(Form& form);
absl::Status UpgradeResize13(Form& form);
absl::Status UpgradeResize28(Form& form);

// upgrade_other.cc
absl::Status UpgradeRecurrent7(Form& form);
absl::Status UpgradeScatter11(Form& form);
absl::Status UpgradeRoiAlign16(Form& form);
absl::Status UpgradeGridSample20(Form& form);
absl::Status UpgradeReduceLog28(Form& form);

// upgrade_scan.cc
absl::Status UpgradeScan9(Form& form);

// upgrade_ml.cc: a node of ai.onnx.ml in the opset of the file, which all of the domain keep. A
// classifier with string labels gives indices, which a LabelEncoder behind it maps to the labels,
// so that only the labels need strings; missing intercepts become zeros.
absl::StatusOr<std::vector<Value*>> AppendMlNode(Graph& graph, ShapeInference& inference,
                                                 NodeSpec spec);

}  // namespace onnx_cudnn

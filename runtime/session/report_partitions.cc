#include "runtime/session/report_partitions.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/partition_check.h"
#include "runtime/graph/graph.h"
#include "runtime/session/arguments.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<HostTensor> TensorOf(const TensorView& view) {
  if (view.device != DeviceRef{}) {
    return absl::InvalidArgumentError(
        absl::StrCat("CheckPartitions: expected inputs in the host's memory, found memory of ",
                     NameOf(view.device)));
  }
  if (view.dtype == DType::kString) {
    const auto* strings = static_cast<const std::string*>(view.data);
    return HostTensor::Strings(view.shape, {strings, strings + ElementsOf(view.shape)});
  }
  return HostTensor::Borrow(view.dtype, view.shape, view.data, /*owner=*/nullptr);
}

const std::string& NameOf(const Node& node) {
  return node.name().empty() ? node.output(0).name() : node.name();
}

// "Conv Relu: conv1"
std::string OpsOf(absl::Span<const Node* const> nodes) {
  std::string ops;
  for (const Node* node : nodes) absl::StrAppend(&ops, node->op(), " ");
  ops.back() = ':';
  return absl::StrCat(ops, " ", NameOf(*nodes[0]));
}

void Report(absl::Span<const Node* const> nodes, const OutputCheck& check, CheckedOutput& report) {
  report.ops = OpsOf(nodes);
  report.largest_difference = check.difference.largest;
  report.largest_expected = check.difference.largest_expected;
  report.share_of_tolerance = check.worst;
  report.ok = check.ok();
  report.largest_relative = check.figures.relative;
  report.largest_ulps = check.figures.ulps;
  report.cosine = check.figures.cosine;
  const Boundary boundary = BoundaryOf(nodes);
  if (!boundary.outputs.empty()) report.output = boundary.outputs[check.output]->name();
  if (!check.difference.type.empty()) report.note = check.difference.type;
  if (!check.wrong.empty()) report.note = check.wrong;
  if (!check.not_compared.empty()) {
    report.note = absl::StrCat("not compared: ", check.not_compared);
  }
}

CheckedPartition Report(const Partition& partition, const PartitionCheck& check) {
  CheckedPartition report;
  Report(partition.chosen.nodes, check, report);
  report.index = check.partition;
  report.engine = std::string(partition.chosen.engine->name());
  report.variant = partition.variant.text;
  report.share_of_f32 = check.cost.share;
  report.overflowed = check.cost.overflowed;
  for (const Node* node : partition.chosen.nodes) report.nodes.push_back(NameOf(*node));
  for (const OpCheck& op : check.ops) {
    CheckedOutput& of_op = report.op_by_op.emplace_back();
    Report({{op.node}}, op.check, of_op);
    of_op.engine = op.engine;
  }
  return report;
}

}  // namespace

absl::StatusOr<std::vector<CheckedPartition>> ReportPartitions(
    const Program& program, const std::vector<const TensorView*>& inputs,
    const SessionDevice& device) {
  std::vector<HostTensor> tensors;
  for (const TensorView* view : inputs) {
    ASSIGN_OR_RETURN(HostTensor tensor, TensorOf(*view));
    tensors.push_back(std::move(tensor));
  }
  ASSIGN_OR_RETURN(
      const std::vector<PartitionCheck> checks,
      CheckPartitions(program, tensors, device.target(), device.device(), device.constants()));
  std::vector<CheckedPartition> reports;
  for (const PartitionCheck& check : checks) {
    reports.push_back(Report(program.partitions[check.partition], check));
  }
  return reports;
}

}  // namespace onnx_cudnn

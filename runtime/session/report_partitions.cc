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

// "Conv Relu: conv1"
std::string OpsOf(const Partition& partition) {
  std::string ops;
  for (const Node* node : partition.chosen.nodes) absl::StrAppend(&ops, node->op(), " ");
  ops.back() = ':';
  const Node& first = *partition.chosen.nodes[0];
  return absl::StrCat(ops, " ", first.name().empty() ? first.output(0).name() : first.name());
}

CheckedPartition Report(const Partition& partition, const PartitionCheck& check) {
  CheckedPartition report{.index = check.partition,
                          .engine = std::string(partition.chosen.engine->name()),
                          .variant = partition.variant.text,
                          .ops = OpsOf(partition),
                          .largest_difference = check.difference.largest,
                          .largest_expected = check.difference.largest_expected,
                          .share_of_tolerance = check.worst,
                          .ok = check.ok()};
  const Boundary boundary = BoundaryOf(partition.chosen.nodes);
  if (!boundary.outputs.empty()) report.output = boundary.outputs[check.output]->name();
  if (!check.difference.type.empty()) report.note = check.difference.type;
  if (!check.wrong.empty()) report.note = check.wrong;
  if (!check.not_compared.empty()) {
    report.note = absl::StrCat("not compared: ", check.not_compared);
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
  ASSIGN_OR_RETURN(const std::vector<PartitionCheck> checks,
                   CheckPartitions(program, tensors, device.target().numerics.tf32, device.device(),
                                   device.constants()));
  std::vector<CheckedPartition> reports;
  for (const PartitionCheck& check : checks) {
    reports.push_back(Report(program.partitions[check.partition], check));
  }
  return reports;
}

}  // namespace onnx_cudnn

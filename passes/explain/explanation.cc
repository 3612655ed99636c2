#include "passes/explain/explanation.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/conversion.h"
#include "runtime/plan/interleaved.h"

namespace onnx_cudnn {
namespace {

OperandReport ReportOperand(const Value& value, const Placement& placement) {
  const Dims dims = value.dims();
  return {value.name(), ToString(value.type()), FormatName(placement, dims)};
}

std::vector<std::pair<int, int>> LinksOf(absl::Span<const Node* const> nodes) {
  std::map<const Node*, int> place;
  for (const Node* node : nodes) place.emplace(node, static_cast<int>(place.size()));
  std::set<std::pair<int, int>> links;
  for (const Node* node : nodes) {
    for (const Value* input : node->inputs()) {
      const auto source = input == nullptr ? place.end() : place.find(input->producer());
      if (source != place.end()) links.emplace(source->second, place[node]);
    }
  }
  return {links.begin(), links.end()};
}

PartitionReport ReportPartition(const Partition& partition, int stream, const Target& target) {
  const Candidate& chosen = partition.chosen;
  PartitionReport report{.engine = std::string(chosen.engine->name()),
                         .variant = partition.variant.text,
                         .cost = chosen.cost,
                         .stream = stream,
                         .launches = partition.step->launches()};
  for (const Node* node : chosen.nodes) {
    report.nodes.push_back(NameOf(*node));
    report.ops.push_back(node->op());
  }
  report.links = LinksOf(chosen.nodes);
  const Boundary boundary = BoundaryOf(chosen.nodes);
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    report.inputs.push_back(ReportOperand(*boundary.inputs[i], chosen.inputs[i]));
  }
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    report.outputs.push_back(ReportOperand(*boundary.outputs[i], chosen.outputs[i]));
  }
  if (report.launches) report.floor_us = Roofline(chosen, target).us;
  return report;
}

bool IsConversion(const Partition& partition) {
  return onnx_cudnn::IsConversion(*partition.chosen.nodes[0]);
}

FormatCost CostOfConversion(const Partition& partition) {
  const Candidate& chosen = partition.chosen;
  const Value& from = chosen.nodes[0]->input(0);
  const Dims dims = from.dims();
  return {.kind = chosen.nodes[0]->op(),
          .value = from.name(),
          .from = FormatName(chosen.inputs[0], dims),
          .to = FormatName(chosen.outputs[0], dims),
          .bytes = chosen.inputs[0].format.bytes(from.dtype()) +
                   chosen.outputs[0].format.bytes(from.dtype()),
          .us = chosen.cost.us};
}

// Padding lanes are written once and read by each reader.
void AddPaddings(const Partition& partition, const Target& target, std::vector<FormatCost>& costs) {
  const std::vector<const Value*> outputs = BoundaryOf(partition.chosen.nodes).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = *outputs[i];
    const Dims dims = value.dims();
    const Placement& placement = partition.chosen.outputs[i];
    if (!placement.format.has_padding(dims) || placement.format.has_foreign_lanes()) continue;
    const int64_t passes = 1 + static_cast<int64_t>(value.uses().size());
    const int64_t bytes = passes * (placement.format.bytes(value.dtype()) - value.bytes());
    costs.push_back({.kind = "padding",
                     .value = value.name(),
                     .from = ToString(value.type()),
                     .to = FormatName(placement, dims),
                     .bytes = bytes,
                     .us = static_cast<double>(bytes) / target.info.bytes_per_us});
  }
}

Totals Sum(const Explanation& explanation) {
  Totals totals;
  for (const PartitionReport& p : explanation.partitions) {
    totals.launches += p.launches ? 1 : 0;
    totals.us += p.cost.us;
    totals.floor_us += p.floor_us;
    totals.flops += p.cost.flops;
    totals.bytes += p.cost.bytes;
  }
  for (const FormatCost& f : explanation.formats) {
    totals.format_us += f.us;
    totals.format_bytes += f.bytes;
  }
  return totals;
}

CallersCopies CopiesOf(const Graph& graph, const DeviceInfo& info) {
  CallersCopies copies;
  if (info.compute_capability == 0) return copies;
  const auto add = [&](const Value& value) {
    if (value.dtype() == DType::kString) return;
    copies.bytes += value.bytes();
    copies.device_us += static_cast<double>(2 * value.bytes()) / info.bytes_per_us + info.launch_us;
    copies.host_us += TransferUs(value.bytes(), info);
  };
  for (const Value* input : graph.inputs()) add(*input);
  for (const GraphOutput& output : graph.outputs()) add(*output.value);
  return copies;
}

}  // namespace

std::string FormatName(const Placement& placement, absl::Span<const int64_t> dims) {
  const Format& format = placement.format;
  const bool is_image = dims.size() == 4;
  std::string name = format.ToString();
  if (format == Format::RowMajor(dims)) {
    name = is_image ? "NCHW" : "row-major";
  } else if (format == Format::ChannelsLast(dims)) {
    name = is_image ? "NHWC" : "channels-last";
  } else if (dims.size() > 2 && format.axes().back().dim == 1 && format.axes().back().block == 1) {
    const int64_t lanes = format.axes().back().extent;
    const std::string_view last = is_image ? "NHWC" : "channels-last";
    if (format == Format::ChannelsLast(dims, lanes)) {
      name = absl::StrCat(last, lanes);
    } else if (const auto pitch = PixelPitch(format, dims)) {
      name = absl::StrCat(last, "^", *pitch);
    }
  }
  return placement.space == Space::kHost ? name + ", host" : name;
}

absl::StatusOr<Explanation> Explain(const Graph& graph,
                                    const std::map<std::string, Dims, std::less<>>& input_dims,
                                    const Target& target, BuildOptions options) {
  Explanation explanation{.target = target.info.name, .prices = std::string(target.info.prices)};
  explanation.peaks = {target.info.f16_flops_per_us, target.info.tf32_flops_per_us,
                       target.info.f32_flops_per_us, target.info.bytes_per_us};
  EdgesAndLost explained;
  options.on_partitions = [&](const Graph& bound, absl::Span<const Partition> partitions,
                              const Refusals& refused) {
    explained = ExplainEdges(bound, partitions, refused, target);
  };
  ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                   BuildProgram(graph, input_dims, target, options));
  explanation.streams = program->schedule.streams;
  for (const ScheduledStep& s : program->schedule.steps) {
    const Partition& partition = program->partitions[s.step];
    PartitionReport& report =
        explanation.partitions.emplace_back(ReportPartition(partition, s.stream, target));
    const auto lost = explained.lost.find(partition.chosen.nodes[0]);
    if (lost != explained.lost.end()) report.lost = std::move(lost->second);
    if (IsConversion(partition)) explanation.formats.push_back(CostOfConversion(partition));
    AddPaddings(partition, target, explanation.formats);
  }
  explanation.edges = std::move(explained.edges);
  explanation.totals = Sum(explanation);
  explanation.copies = CopiesOf(program->graph, target.info);
  explanation.memory = ReportMemory(*program, target.info);
  return explanation;
}

}  // namespace onnx_cudnn

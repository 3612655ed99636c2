#include "runtime/session/segments/segment_plan.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/explain/why_cut.h"
#include "passes/shape_buckets/cut_padded.h"
#include "runtime/base/status.h"
#include "runtime/ops/bounded.h"
#include "runtime/ops/op_table.h"
#include "runtime/session/arguments.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/segments/values.h"

namespace onnx_cudnn {
namespace {

// Whether it may be a size or a condition, which the host reads.
bool MayBeSize(const Value& value) {
  return (kIntegerTypes.Has(value.dtype()) || value.dtype() == DType::kBool) &&
         value.bytes() <= kMostDecidingBytes;
}

// Whether the Nodes of a part compute on the host alone.
bool RunsOnHost(const GraphCut::Part& part) {
  const Node& node = *part.graph.TopologicalOrder().front();
  return node.bodies().empty() && !IsFirstElements(node) && node.op() != "SequenceConstruct" &&
         node.op() != "SequenceInsert" && node.op() != "Optional";
}

// The Spaces of the outputs of `segment`: host memory for sizes and for what only the host reads.
std::vector<Space> SpacesOf(const GraphCut& cut, const Graph& segment, OutputReader reader) {
  std::set<int> on_device(cut.rest.inputs.begin(), cut.rest.inputs.end());
  for (const GraphCut::Part& part : cut.nodes) {
    if (!RunsOnHost(part)) on_device.insert(part.inputs.begin(), part.inputs.end());
  }
  if (reader == OutputReader::kPrograms) on_device.insert(cut.outputs.begin(), cut.outputs.end());
  std::vector<Space> spaces;
  for (size_t i = 0; i < cut.segment.outputs.size(); ++i) {
    const Value& value = *segment.outputs()[i].value;
    const bool is_device = on_device.contains(cut.segment.outputs[i]) && !MayBeSize(value);
    spaces.push_back(is_device ? Space::kDevice : Space::kHost);
  }
  return spaces;
}

std::map<std::string, HostTensor, std::less<>> ValuesOf(const SubModel& model,
                                                        const SegmentKey& key) {
  std::map<std::string, HostTensor, std::less<>> values;
  for (const auto& [i, bytes] : key.values) {
    const auto& [dtype, dims] = key.inputs[i];
    HostTensor tensor = HostTensor::Allocate(dtype, dims);
    std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
    values[model.graph.inputs()[i]->name()] = std::move(tensor);
  }
  return values;
}

absl::StatusOr<SegmentPlan::Node> PlanNode(GraphCut::Part part) {
  SegmentPlan::Node planned;
  planned.part = std::move(part);
  Node& node = *planned.part.graph.TopologicalOrder().front();
  planned.is_first_elements = IsFirstElements(node);
  for (const auto& [name, body] : node.bodies()) {
    ASSIGN_OR_RETURN(planned.bodies[name],
                     SubModel::Create(body->Clone(), OutputReader::kPrograms));
  }
  return planned;
}

// All but the segment.
absl::Status PlanBehind(GraphCut cut, OutputReader reader, SegmentPlan& plan) {
  std::set<int> counts;
  for (GraphCut::Part& part : cut.nodes) {
    ASSIGN_OR_RETURN(SegmentPlan::Node node, PlanNode(std::move(part)));
    node.reads_count = node.is_first_elements && counts.insert(node.part.inputs[1]).second;
    plan.nodes.push_back(std::move(node));
  }
  if (cut.rest.graph.node_count() > 0) {
    ASSIGN_OR_RETURN(plan.rest,
                     SubModel::Create(std::move(cut.rest.graph), reader, OpenDims::kFound));
    plan.rest_inputs = std::move(cut.rest.inputs);
    plan.rest_outputs = std::move(cut.rest.outputs);
  }
  plan.outputs = std::move(cut.outputs);
  for (const auto& [slot, tensor] : cut.constants) plan.constants[slot] = TensorMaker::Of(tensor);
  plan.slots = cut.slots;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<ExecutorPool>> SegmentPlanner::BuildPool(const Graph& segment,
                                                                        double bind_ms) const {
  std::vector<ValueInfo> inputs;
  ProgramKey key;
  for (const Value* input : segment.inputs()) {
    inputs.push_back(DescribeValue(input->name(), input->type()));
    key.dims.push_back(input->dims());
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                   build_(builder_.Over(segment, inputs), key, bind_ms));
  return pools_.Make(std::move(program));
}

absl::StatusOr<std::shared_ptr<SegmentPlan>> SegmentPlanner::Build(
    const SubModel& model, absl::Span<const Type> input_types, const SegmentKey& key) const {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(GraphCut cut,
                   CutGraph(model.graph, input_types, builder_.OptionsFor(ValuesOf(model, key))));
  const double cut_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  auto plan = std::make_shared<SegmentPlan>();
  plan->output_spaces = SpacesOf(cut, cut.segment.graph, model.reader);
  plan->segment_inputs = cut.segment.inputs;
  plan->segment_outputs = cut.segment.outputs;
  plan->reasons = WhyCut(cut);
  plan->segment = std::move(cut.segment.graph);
  if (plan->segment.node_count() > 0) {
    ASSIGN_OR_RETURN(plan->pool, BuildPool(plan->segment, cut_ms));
  }
  RETURN_IF_ERROR(PlanBehind(std::move(cut), model.reader, *plan));
  return plan;
}

absl::StatusOr<std::shared_ptr<SegmentPlan>> SegmentPlanner::BuildPadded(
    const SubModel& model, const SegmentKey& key) const {
  const absl::Time start = absl::Now();
  std::vector<Dims> dims;
  for (const auto& [dtype, of_input] : key.inputs) dims.push_back(of_input);
  ASSIGN_OR_RETURN(PaddedCut cut, CutPadded(model.graph, model.found, dims,
                                            builder_.OptionsFor(ValuesOf(model, key))));
  const double cut_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  auto plan = std::make_shared<SegmentPlan>();
  plan->output_spaces = SpacesOf(cut.cut, cut.padded.graph, model.reader);
  plan->segment_inputs = cut.cut.segment.inputs;
  plan->segment_outputs = cut.cut.segment.outputs;
  for (const std::string& reason : cut.reasons) {
    plan->reasons.push_back(absl::StrCat("not padded to buckets: ", reason));
  }
  plan->segment = std::move(cut.padded.graph);
  plan->padded = std::move(cut.padded);
  ASSIGN_OR_RETURN(plan->pool, BuildPool(plan->segment, cut_ms));
  RETURN_IF_ERROR(PlanBehind(std::move(cut.cut), model.reader, *plan));
  return plan;
}

}  // namespace onnx_cudnn

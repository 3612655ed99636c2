#include "tools/common/explain_graph.h"

#include <filesystem>
#include <iostream>
#include <map>

#include "passes/explain/explanation.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/import/expand_function.h"
#include "runtime/session/arguments.h"
#include "runtime/session/input_reader.h"
#include "tools/common/explain_model.h"
#include "tools/common/explain_segments.h"
#include "tools/common/inputs.h"
#include "tools/common/plan_flags.h"
#include "tools/common/show_explanation.h"

namespace onnx_cudnn {

absl::StatusOr<NodeMetadata> ExplainGraph(const Graph& graph, const ExplainRequest& options,
                                          const Target& target) {
  const ExplanationOutput output = {options.model, options.verbose, options.json, options.report,
                                    options.flags};
  std::vector<ValueInfo> infos;
  for (const Value* input : graph.inputs()) {
    infos.push_back(DescribeValue(input->name(), input->type()));
  }
  ASSIGN_OR_RETURN(const auto filled, ShapesOf(infos, GivenInputs().shapes));
  ASSIGN_OR_RETURN(const NamedTensors values, SaidInputs(infos, GivenInputs()));
  std::map<std::string, Dims, std::less<>> dims;
  std::map<std::string, std::string, std::less<>> taken;
  for (const auto& [name, input] : filled) {
    const auto value = values.find(name);
    dims[name] = value == values.end() ? input.dims : value->second.dims();
    if (value == values.end() && !input.taken.empty()) taken[name] = input.taken;
  }
  for (const auto& [name, words] : taken) {
    std::cout << "input   " << Printable(name) << " " << Printable(words) << "\n";
  }
  BuildOptions build{
      .partitioner = options.partitioner == PartitionerChoice::kCost ? CostSearch : Greedy,
      .streams = options.streams,
      .functions = &kOnnxFunctions,
      .disabled_passes = {options.disabled.begin(), options.disabled.end()}};
  ASSIGN_OR_RETURN(build.input_values, ValuesToRead(graph, infos, values));
  ASSIGN_OR_RETURN(const std::string pins, ReadPinFile(options.pin));
  const std::filesystem::path pin_path(options.pin);
  ASSIGN_OR_RETURN(build.pins, ParsePins(pins, pin_path.filename().string()));
  build.body_target = build.pins.empty() ? &target : nullptr;  // as in a Session
  const absl::StatusOr<ModelExplanation> explanation =
      ExplainModel(graph, infos, dims, options.shape_buckets, target, build);
  if (absl::IsUnimplemented(explanation.status())) {
    build.input_values.clear();
    auto parts = ExplainSegments(graph, GivenInputs(), options.shape_buckets, target, build);
    // What does not run in segments either fails for the same reason.
    if (absl::IsUnimplemented(parts.status())) parts = explanation.status();
    if (!parts.ok()) return WithTakenDims(parts.status(), taken);
    return ShowExplanation(graph, *parts, output);
  }
  if (!explanation.ok()) return WithTakenDims(explanation.status(), taken);
  for (const auto& [name, padded] : explanation->padded) {
    std::cout << "input   " << Printable(name) << " padded to "
              << ToString(absl::MakeConstSpan(padded)) << "\n";
  }
  if (!explanation->note.empty()) {
    std::cout << "note    not padded to buckets: " << Printable(explanation->note) << "\n";
  }
  return ShowExplanation(graph, explanation->program, output);
}

}  // namespace onnx_cudnn

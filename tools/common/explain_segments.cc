#include "tools/common/explain_segments.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/session/loaded_model.h"
#include "tools/common/explain_json.h"
#include "tools/common/explain_text.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {
namespace {

absl::Status CheckTensors(const std::vector<ValueInfo>& infos) {
  for (const ValueInfo& info : infos) {
    if (info.kind == ValueKind::kTensor) continue;
    return absl::UnimplementedError(absl::StrCat(ToString(info), " is no tensor"));
  }
  return absl::OkStatus();
}

// One Run; its plans own their Graphs.
absl::StatusOr<RunTrace> TraceOf(const Graph& graph, const InputRequest& request,
                                 const std::vector<std::string>& shape_buckets,
                                 const BuildOptions& build) {
  // `graph` is rewritten already; how it is cut depends on the passes and Engines for its bodies.
  const SessionOptions options{
      .device = DeviceChoice::kCpu,
      .optimization_level = 0,
      .disabled_passes = {build.disabled_passes.begin(), build.disabled_passes.end()},
      .shape_buckets = shape_buckets};
  OpenedDevice opened{.device = MakeCpuDevice(), .body_target = build.body_target};
  ASSIGN_OR_RETURN(opened.target, MakeTarget("cpu"));
  ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModel> model,
                   LoadedModel::Create(graph.Clone(), options, /*load_ms=*/0, std::move(opened)));
  RETURN_IF_ERROR(CheckTensors(model->inputs()));
  RETURN_IF_ERROR(CheckTensors(model->outputs()));
  ASSIGN_OR_RETURN(const std::vector<ModelInput> made, MakeInputs(model->inputs(), request));
  std::vector<ModelValue> inputs;
  for (const ModelInput& input : made) inputs.emplace_back(Tensor::Borrow(ViewOf(input.tensor)));
  RunTrace trace;
  RETURN_IF_ERROR(model->RunSegments(std::move(inputs), {}, &trace).status());
  return trace;
}

std::string Title(const SegmentExplanation& part, size_t index) {
  std::string title = absl::StrCat("segment ", index + 1);
  if (part.depth > 0) absl::StrAppend(&title, ", in a body at depth ", part.depth);
  if (part.is_padded) absl::StrAppend(&title, ", padded to buckets");
  if (part.runs > 1) absl::StrAppend(&title, ", run ", part.runs, " times");
  return title;
}

}  // namespace

absl::StatusOr<SegmentsExplanation> ExplainSegments(const Graph& graph, const InputRequest& request,
                                                    const std::vector<std::string>& shape_buckets,
                                                    const Target& target, BuildOptions build) {
  ASSIGN_OR_RETURN(const RunTrace trace, TraceOf(graph, request, shape_buckets, build));
  build.body_target = nullptr;
  SegmentsExplanation explained{.size_reads = trace.reads, .size_read_bytes = trace.read_bytes};
  for (const RunPart& part : trace.parts) {
    SegmentExplanation& one = explained.parts.emplace_back();
    one.depth = part.depth;
    one.runs = part.runs;
    one.is_padded = part.plan->padded.has_value();
    one.reasons = part.plan->reasons;
    if (part.plan->segment.node_count() == 0) continue;
    ASSIGN_OR_RETURN(one.program, Explain(part.plan->segment, {}, target, build));
  }
  return explained;
}

std::string ExplainText(const SegmentsExplanation& explained, bool verbose) {
  std::string text = absl::StrFormat(
      "parts    %d: the model runs as several programs, the lines \"cut\" say why\n"
      "sizes    %d read between them, %d bytes in all\n",
      explained.parts.size(), explained.size_reads, explained.size_read_bytes);
  for (size_t i = 0; i < explained.parts.size(); ++i) {
    const SegmentExplanation& part = explained.parts[i];
    absl::StrAppend(&text, "\n", Title(part, i), "\n");
    text += part.program.has_value() ? ExplainText(*part.program, verbose) : "no program\n";
    for (const std::string& reason : part.reasons)
      absl::StrAppend(&text, "cut      ", reason, "\n");
  }
  return text;
}

std::string ExplainJson(const SegmentsExplanation& explained) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const SegmentExplanation& part : explained.parts) {
    Json program;
    if (part.program.has_value()) program = Json::parse(ExplainJson(*part.program));
    list.push_back({{"depth", part.depth},
                    {"runs", part.runs},
                    {"padded", part.is_padded},
                    {"program", std::move(program)},
                    {"reasons", part.reasons}});
  }
  return JsonText({{"size_reads", explained.size_reads},
                   {"size_read_bytes", explained.size_read_bytes},
                   {"segments", std::move(list)}},
                  /*indent=*/1);
}

}  // namespace onnx_cudnn

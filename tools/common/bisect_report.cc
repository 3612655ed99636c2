#include "tools/common/bisect_report.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/build_program.h"
#include "passes/pipelines.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/graph/op_library.h"
#include "runtime/import/expand_function.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "runtime/session/arguments.h"
#include "runtime/session/check_options.h"
#include "runtime/session/input_reader.h"
#include "tools/common/json_text.h"
#include "tools/common/load_session.h"
#include "tools/common/node_names.h"
#include "tools/common/verify.h"

namespace onnx_cudnn {
namespace {

// Together with the run that is under way at its end, within a minute for ordinary models.
constexpr absl::Duration kMostTime = absl::Seconds(50);

// The rewrites of a Session that may be left out, in the order of their first runs.
std::vector<std::string> OptionalPasses(const SessionOptions& session, PrecisionChoice precision) {
  std::set<std::string, std::less<>> known(session.disabled_passes.begin(),
                                           session.disabled_passes.end());
  known.insert("dead-code");
  std::vector<std::string> names;
  for (const auto& pass : MakePipeline(session.optimization_level, ProductType(precision))) {
    if (known.insert(std::string(pass->name())).second) names.emplace_back(pass->name());
  }
  return names;
}

// A static Graph without any rewrite, and the tensors of its inputs.
struct BoundModel {
  Graph graph;
  std::vector<HostTensor> inputs;
};

absl::StatusOr<BoundModel> BindModel(Graph graph, const InputRequest& request) {
  std::vector<ValueInfo> infos;
  for (const Value* input : graph.inputs()) {
    infos.push_back(DescribeValue(input->name(), input->type()));
  }
  ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs, MakeInputs(infos, request));
  ASSIGN_OR_RETURN(const std::vector<int> deciding, DecidingInputs(graph, infos));
  const std::vector<std::string> all = PassNames();
  BuildOptions build{.functions = &kOnnxFunctions, .disabled_passes = {all.begin(), all.end()}};
  std::map<std::string, Dims, std::less<>> dims;
  BoundModel bound;
  for (const ModelInput& input : inputs) {
    dims[input.name] = input.tensor.dims();
    bound.inputs.push_back(input.tensor);
    if (input.tensor.dtype() == DType::kString) build.input_values[input.name] = input.tensor;
  }
  for (const int i : deciding) build.input_values[inputs[i].name] = inputs[i].tensor;
  ASSIGN_OR_RETURN(bound.graph, BindShapes(graph, dims, build));
  return bound;
}

// Those of `names` that name a node of `part`: others are errors of a Session.
std::vector<std::string> NamesIn(const Graph& part, std::vector<std::string> names) {
  const std::set<std::string> there = NamesOfNodes(part);
  std::erase_if(names, [&](const std::string& name) { return !there.contains(name); });
  return names;
}

absl::StatusOr<std::vector<HostTensor>> RunInSession(const Graph& graph, SessionOptions options,
                                                     const std::vector<std::string>& disabled,
                                                     absl::Span<const HostTensor> inputs) {
  ASSIGN_OR_RETURN(const std::string bytes, WriteModel(graph));
  options.disabled_passes = disabled;
  options.keep_f32 = NamesIn(graph, std::move(options.keep_f32));
  Result<Session> session = Session::LoadBytes(bytes, options);
  if (!session.ok()) return ToStatus(session.error());
  std::vector<NamedView> views;
  for (const HostTensor& input : inputs) views.emplace_back(ViewOf(input));
  Result<std::vector<Tensor>> outputs = session.value().Run(views);
  if (!outputs.ok()) return ToStatus(outputs.error());
  std::vector<HostTensor> tensors;
  for (const Tensor& output : outputs.value()) tensors.push_back(HostTensorOf(output));
  return tensors;
}

absl::Status WriteReduced(const std::string& folder, BisectReport& report) {
  const Bisection& found = report.found;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  report.reduced = absl::StrCat(folder, "/reduced.onnx");
  report.tensors = absl::StrCat(folder, "/reduced.npz");
  RETURN_IF_ERROR(WriteModelFile(found.reduced, report.reduced));
  NamedTensors tensors;
  for (size_t i = 0; i < found.inputs.size(); ++i) {
    tensors[found.reduced.inputs()[i]->name()] = found.inputs[i];
  }
  for (size_t i = 0; i < found.expected.size(); ++i) {
    tensors[found.reduced.outputs()[i].name] = found.expected[i];
  }
  return WriteNpz(report.tensors, tensors);
}

std::string PassText(const Bisection& found) {
  if (found.pass.empty()) {
    return "none: with all rewrites left out the outputs are wrong too, so an engine's partition "
           "is";
  }
  return absl::StrCat(found.pass, ": without it the outputs are right",
                      found.pass_is_enough ? "" : "; passes before it are needed too");
}

}  // namespace

absl::StatusOr<BisectReport> BisectModel(const std::string& model, const SessionOptions& session,
                                         const InputRequest& request, std::optional<double> rtol,
                                         std::optional<double> atol, const std::string& folder) {
  if (!session.pins.empty()) {
    return absl::InvalidArgumentError(
        "--bisect takes no --pin: parts of the model lack nodes that it names");
  }
  const absl::Time start = absl::Now();
  BisectReport report{.model = model};
  ASSIGN_OR_RETURN(const Session whole, LoadSession(model, session));
  const PrecisionChoice precision = whole.precision();
  RETURN_IF_ERROR(LoadOpLibraries(session.op_libraries));
  ASSIGN_OR_RETURN(Graph graph, LoadModel(model));
  absl::StatusOr<BoundModel> bound = BindModel(std::move(graph), request);
  if (!bound.ok()) return Annotate(bound.status(), model);
  BisectRequest bisect;
  bisect.run = [&](const Graph& part, const std::vector<std::string>& disabled,
                   absl::Span<const HostTensor> inputs) {
    return RunInSession(part, session, disabled, inputs);
  };
  bisect.differs = [&](const HostTensor& found,
                       const HostTensor& expected) -> absl::StatusOr<bool> {
    const VerifyTolerance tolerance = ToleranceFor(expected.dtype(), precision, rtol, atol);
    ASSIGN_OR_RETURN(const Difference difference, CompareOutputs(found, expected, tolerance));
    return !difference.ok();
  };
  bisect.passes = OptionalPasses(session, precision);
  bisect.disabled = session.disabled_passes;
  bisect.deadline = start + kMostTime;
  ASSIGN_OR_RETURN(report.found, Bisect(bound->graph, bound->inputs, bisect));
  report.keep_f32 = NamesIn(report.found.reduced, session.keep_f32);
  if (report.found.differs) RETURN_IF_ERROR(WriteReduced(folder, report));
  report.s = absl::ToDoubleSeconds(absl::Now() - start);
  return report;
}

std::string BisectText(const BisectReport& report) {
  const Bisection& found = report.found;
  std::string text = absl::StrFormat("model   %s\n", Printable(report.model));
  if (!found.differs) {
    absl::StrAppend(&text, "bisect  the outputs agree with the ops' references: nothing to find\n");
    return text;
  }
  absl::StrAppendFormat(&text, "pass    %s\n", PassText(found));
  absl::StrAppendFormat(&text, "reduced %d nodes: %s, its inputs and right outputs in %s\n",
                        found.nodes.size(), Printable(report.reduced), Printable(report.tensors));
  for (const std::string& node : found.nodes) {
    absl::StrAppend(&text, "          ", Printable(node), "\n");
  }
  std::vector<std::string> flags;
  if (!found.disabled.empty()) {
    flags.push_back(absl::StrCat("--disable-passes ", absl::StrJoin(found.disabled, ",")));
  }
  if (!report.keep_f32.empty()) {
    flags.push_back(absl::StrCat("--keep-f32 ", Printable(absl::StrJoin(report.keep_f32, ","))));
  }
  if (!flags.empty()) absl::StrAppend(&text, "with    ", absl::StrJoin(flags, " "), "\n");
  absl::StrAppendFormat(&text, "runs    %d in %.1f s%s\n", found.runs, report.s,
                        found.ran_out ? "; its time ended before it was done" : "");
  return text;
}

std::string BisectJson(const BisectReport& report) {
  const Bisection& found = report.found;
  const nlohmann::ordered_json json = {{"model", report.model},
                                       {"differs", found.differs},
                                       {"pass", found.pass},
                                       {"pass_is_enough", found.pass_is_enough},
                                       {"disabled_passes", found.disabled},
                                       {"keep_f32", report.keep_f32},
                                       {"nodes", found.nodes},
                                       {"reduced", report.reduced},
                                       {"tensors", report.tensors},
                                       {"runs", found.runs},
                                       {"ran_out", found.ran_out},
                                       {"s", report.s}};
  return JsonText(json, /*indent=*/1);
}

ExitCode ExitCodeOf(const BisectReport& report) {
  return report.found.differs ? kExitDifference : kExitDone;
}

}  // namespace onnx_cudnn

#include "runtime/session/model_checker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/build_program.h"
#include "passes/cut_graph.h"
#include "passes/partition/pins.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "passes/sweep.h"
#include "runtime/base/status.h"
#include "runtime/gpu/examine.h"
#include "runtime/graph/op_library.h"
#include "runtime/import/expand_function.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/ops/bounded.h"
#include "runtime/session/arguments.h"
#include "runtime/session/check_border.h"
#include "runtime/session/check_options.h"
#include "runtime/session/edge.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/taken_dims.h"

namespace onnx_cudnn {
namespace {

using NamedDims = std::map<std::string, Dims, std::less<>>;
using NamedHostTensors = std::map<std::string, HostTensor, std::less<>>;

// ── Target ──

absl::StatusOr<OwnedTarget> TargetFor(const SessionOptions& options) {
  std::string name = options.target;
  if (name.empty() && options.device == DeviceChoice::kCpu) name = "cpu";
  ASSIGN_OR_RETURN(OwnedTarget owned, MakeTarget(name.empty() ? "h200" : name));
  if (name.empty()) {
    const absl::StatusOr<DeviceInfo> gpu =
        GpuInfo(options.devices.empty() ? options.device_ordinal : std::max(options.devices[0], 0));
    if (gpu.ok()) owned.target.info = *gpu;
  }
  RETURN_IF_ERROR(SetCapability(owned, options.compute_capability));
  return owned;
}

// ── Nodes that no engine runs ──

// The Nodes of `graph` whose types are known, that nothing has refused and that a Program runs;
// counts those of unknown types in `unchecked`.
std::vector<const Node*> NodesToAsk(const Graph& graph, const std::vector<NodeRefusal>& refused,
                                    int64_t& unchecked) {
  std::set<int> ids;
  for (const NodeRefusal& refusal : refused) ids.insert(refusal.id);
  const auto is_open = [](const Value* v) { return v != nullptr && !v->is_static(); };
  std::vector<const Node*> nodes;
  for (const Node* node : graph.TopologicalOrder()) {
    if (ids.contains(node->id()) || RunsBetweenPrograms(*node)) continue;
    const bool open = std::any_of(node->inputs().begin(), node->inputs().end(), is_open) ||
                      std::any_of(node->outputs().begin(), node->outputs().end(), is_open);
    if (open) {
      ++unchecked;
    } else {
      nodes.push_back(node);
    }
  }
  return nodes;
}

// Asks every Engine about every Node of a static Graph. Adds what none runs to `refused`, and
// counts the others by Engine.
absl::Status AskEngines(Graph graph, const Target& target, std::vector<NodeRefusal>& refused,
                        std::map<std::string, int64_t>& counts) {
  PassContext context{.target = &target};
  RETURN_IF_ERROR(OwnOutputs()->Run(graph, context).status());
  const Refusals none;
  Stretch stretch{.graph = graph, .target = target, .refused = none, .refusals = &refused};
  for (const Node* node : graph.TopologicalOrder()) stretch.nodes.push_back(node);
  ASSIGN_OR_RETURN(const std::vector<Candidate> chosen, Greedy(stretch));
  for (const Candidate& candidate : chosen) {
    counts[std::string(candidate.engine->name())] += static_cast<int64_t>(candidate.nodes.size());
  }
  return absl::OkStatus();
}

// ── The result ──

RefusedNode Described(const NodeRefusal& refusal) {
  return {.node = refusal.node,
          .op = refusal.domain.empty() ? refusal.op : absl::StrCat(refusal.domain, ".", refusal.op),
          .opset = refusal.opset,
          .code = ToError(refusal.why).code,
          .reason = std::string(refusal.why.message())};
}

// Adds why decompose kept a Node, where it says so.
void AddRemarks(const std::vector<Remark>& remarks, std::vector<NodeRefusal>& refused) {
  for (NodeRefusal& refusal : refused) {
    const std::string where = refusal.node.empty()
                                  ? absl::StrCat("node (", refusal.op, ")")
                                  : absl::StrCat("node \"", refusal.node, "\" (", refusal.op, ")");
    const auto remark = std::find_if(remarks.begin(), remarks.end(), [&](const Remark& r) {
      return r.pass == "decompose" && r.where == where;
    });
    if (remark == remarks.end()) continue;
    refusal.why =
        absl::Status(refusal.why.code(), absl::StrCat(refusal.why.message(), "; ", remark->reason));
  }
}

std::vector<EngineNodes> Sorted(const std::map<std::string, int64_t>& counts) {
  std::vector<EngineNodes> engines;
  for (const auto& [engine, nodes] : counts) engines.push_back({engine, nodes});
  std::stable_sort(engines.begin(), engines.end(),
                   [](const EngineNodes& a, const EngineNodes& b) { return a.nodes > b.nodes; });
  return engines;
}

NodeRefusal OfTheModel(const absl::Status& why) {
  return {.node = "", .domain = "", .op = "", .why = why};
}

// Empty strings where no values are given: shapes depend on their number.
void AddStrings(const Graph& graph, const NamedDims& dims, NamedHostTensors& values) {
  for (const Value* input : graph.inputs()) {
    const auto found = dims.find(input->name());
    if (input->dtype() != DType::kString || values.contains(input->name())) continue;
    if (found == dims.end()) continue;
    const auto count = static_cast<size_t>(ElementsOf(found->second));
    values[input->name()] = HostTensor::Strings(found->second, std::vector<std::string>(count));
  }
}

}  // namespace

absl::Status ModelChecker::Optimize() {
  PassContext context{.target = &target_.target, .keep_f32 = options_.keep_f32};
  PassManagerOptions manager;
  manager.disabled.insert(options_.disabled_passes.begin(), options_.disabled_passes.end());
  const auto passes = MakePipeline(options_.optimization_level, ProductType(options_.precision));
  return RunPasses(graph_, passes, manager, context).status();
}

void ModelChecker::CheckTypes() {
  const auto check = [this](std::string_view what, const std::string& name, const Value& value) {
    const absl::Status status = CheckRunnable(what, name, value);
    if (!status.ok()) whole_.push_back(OfTheModel(status));
  };
  for (const Value* input : graph_.inputs()) {
    if (!refusals_.inputs.contains(input->name())) check("input", input->name(), *input);
  }
  for (const GraphOutput& output : graph_.outputs()) {
    const bool is_known = output.value->type().kind != Type::Kind::kUnknown;
    if (is_known && !refusals_.outputs.contains(output.name))
      check("output", output.name, *output.value);
  }
}

absl::StatusOr<ModelChecker> ModelChecker::Load(const std::string& path,
                                                const SessionOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ModelChecker checker;
  ASSIGN_OR_RETURN(checker.target_, TargetFor(options));
  const bool on_gpu = checker.target_.target.info.compute_capability > 0;
  checker.options_ = ResolveOptions(options, on_gpu);
  checker.target_.target.numerics.tf32 = checker.options_.precision == PrecisionChoice::kTf32;
  LoadOptions load{.external_bytes = ExternalBytes::kMap,
                   .follow_hub_links = options.follow_hub_links,
                   .refusals = &checker.refusals_};
  RETURN_IF_ERROR(LoadOpLibraries(options.op_libraries));
  ASSIGN_OR_RETURN(checker.graph_, LoadModel(path, load));
  checker.file_nodes_ =
      checker.graph_.node_count() + static_cast<int64_t>(checker.refusals_.nodes.size());
  SweepDead(checker.graph_);  // of nodes that were refused halfway
  checker.CheckTypes();
  // The rewrites may need what the refused nodes would tell; then the Nodes of the file are asked.
  Graph as_loaded = checker.graph_.Clone();
  if (const absl::Status status = checker.Optimize(); !status.ok()) {
    if (!IsRefusal(status)) return status;
    checker.graph_ = std::move(as_loaded);
    if (checker.refusals_.nodes.empty()) checker.whole_.push_back(OfTheModel(status));
  }
  for (const Value* input : checker.graph_.inputs()) {
    if (checker.refusals_.inputs.contains(input->name())) continue;
    checker.inputs_.push_back(DescribeValue(input->name(), input->type()));
  }
  return checker;
}

NamedDims ModelChecker::AllDims(const NamedDims& dims) const {
  NamedDims all = dims;
  DimFiller filler;
  for (const ValueInfo& info : inputs_) {
    const auto found = dims.find(info.name);
    if (found != dims.end()) filler.Give(info, found->second);
  }
  for (const Value* input : graph_.inputs()) {
    const Type& type = input->type();
    if (!refusals_.inputs.contains(input->name()) || !type.is_tensor() || !type.ranked) continue;
    const ValueInfo info = DescribeValue(input->name(), type);
    Dims open;
    for (const ValueInfo::Extent& extent : info.dims) open.push_back(extent.value);
    all[info.name] = filler.Fill(info, std::move(open)).dims;
  }
  return all;
}

std::vector<std::string> ModelChecker::WantedValues(const NamedHostTensors& values) const {
  Graph copy = graph_.Clone();
  std::vector<ValueInfo> infos;
  for (const Value* input : copy.inputs()) {
    infos.push_back(DescribeValue(input->name(), input->type()));
  }
  std::vector<std::string> wanted;
  const absl::StatusOr<std::vector<int>> deciding = DecidingInputs(copy, infos);
  if (!deciding.ok()) return wanted;
  for (const int i : *deciding) {
    const std::string& name = infos[i].name;
    if (!values.contains(name) && !refusals_.inputs.contains(name)) wanted.push_back(name);
  }
  return wanted;
}

absl::Status ModelChecker::AskEach(const NamedDims& dims, BuildOptions build, Found& found) const {
  std::vector<Remark> remarks;
  std::vector<NodeRefusal> unbound, unrun;
  build.remarks = &remarks;
  build.refusals = &unbound;
  build.on_partitions = nullptr;
  build.body_target = nullptr;
  ASSIGN_OR_RETURN(const Graph bound, BindShapes(graph_, dims, build, &target_.target));
  const std::vector<const Node*> nodes = NodesToAsk(bound, unbound, found.unchecked);
  RETURN_IF_ERROR(AskEngines(ExtractWithConstants(nodes), target_.target, unrun, found.engines));
  AddRemarks(remarks, unrun);
  // The loader has checked the nodes themselves: it is these input shapes that they do not take.
  for (NodeRefusal& refusal : unbound) {
    if (!absl::IsInvalidArgument(refusal.why)) continue;
    refusal.why =
        absl::UnimplementedError(absl::StrCat("with these input shapes: ", refusal.why.message()));
  }
  found.refused.insert(found.refused.end(), unbound.begin(), unbound.end());
  found.refused.insert(found.refused.end(), unrun.begin(), unrun.end());
  return absl::OkStatus();
}

absl::StatusOr<bool> ModelChecker::FindSegments(const NamedDims& dims, BuildOptions build,
                                                Found& found) const {
  std::vector<Type> types;
  for (const Value* input : graph_.inputs()) {
    const auto given = dims.find(input->name());
    types.push_back(given == dims.end() ? input->type()
                                        : Type::Tensor(input->dtype(), given->second));
  }
  const absl::StatusOr<GraphCut> cut = CutGraph(graph_, types, build);
  if (IsRefusal(cut.status())) return false;
  RETURN_IF_ERROR(cut.status());
  build.body_target = nullptr;
  if (cut->segment.graph.node_count() > 0) {
    const absl::Status built = BuildProgram(cut->segment.graph, {}, target_.target, build).status();
    if (IsRefusal(built)) return false;
    RETURN_IF_ERROR(built);
  }
  const int64_t between =
      std::count_if(cut->nodes.begin(), cut->nodes.end(), [](const GraphCut::Part& part) {
        return !IsFirstElements(*part.graph.TopologicalOrder().front());
      });
  if (between > 0) found.engines["between programs"] += between;
  found.later = cut->rest.graph.node_count();
  return true;
}

absl::Status ModelChecker::Find(const NamedDims& dims, const NamedHostTensors& values,
                                Found& found) const {
  BuildOptions build{
      .input_values = values,
      .functions = &kOnnxFunctions,
      .disabled_passes = {options_.disabled_passes.begin(), options_.disabled_passes.end()},
      .body_target = MayRunBodiesApart(options_) ? &target_.target : nullptr};
  ASSIGN_OR_RETURN(build.pins, ParsePins(options_.pins, "pins"));
  build.on_partitions = [&](const Graph&, absl::Span<const Partition> partitions, const Refusals&) {
    for (const Partition& p : partitions) {
      const auto nodes = static_cast<int64_t>(p.chosen.nodes.size());
      found.engines[std::string(p.chosen.engine->name())] += nodes;
    }
  };
  absl::Status built;
  const auto ends = [&] {
    found.engines.clear();
    built = BuildProgram(graph_, dims, target_.target, build).status();
    return !IsRefusal(built) && !absl::IsResourceExhausted(built);
  };
  const bool is_whole = found.refused.empty();
  if (is_whole && ends()) return built;
  const std::vector<std::string> wanted = WantedValues(values);
  if (is_whole && wanted.empty()) {
    found.engines.clear();
    ASSIGN_OR_RETURN(const bool runs, FindSegments(dims, build, found));
    if (runs) return absl::OkStatus();
  }
  // That bodies would run faster as Programs is no reason why it does not run.
  if (is_whole && std::exchange(build.body_target, nullptr) != nullptr && ends()) return built;
  found.engines.clear();
  for (const std::string& name : wanted) {
    found.refused.push_back(OfTheModel(absl::UnimplementedError(
        absl::StrCat("input \"", name, "\" decides shapes: its values are needed, such as --input ",
                     name, "=8,-1"))));
  }
  if (!wanted.empty()) {
    found.unchecked = graph_.node_count();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(AskEach(dims, build, found));
  if (found.refused.empty()) found.refused.push_back(OfTheModel(built));
  return absl::OkStatus();
}

absl::StatusOr<ModelCheck> ModelChecker::Check(const NamedDims& dims,
                                               const NamedHostTensors& values) const {
  ModelCheck check{
      .target = target_.target.info.name, .inputs = inputs_, .file_nodes = file_nodes_};
  for (ValueInfo& info : check.inputs) {
    const auto given = dims.find(info.name);
    if (given == dims.end()) continue;
    info.ranked = true;
    info.dims.clear();
    for (const int64_t extent : given->second) info.dims.push_back({.value = extent, .symbol = ""});
  }
  Found found{.refused = whole_};
  found.refused.insert(found.refused.end(), refusals_.nodes.begin(), refusals_.nodes.end());
  const bool has_types = whole_.empty();
  NamedHostTensors given = values;
  const NamedDims all = AllDims(dims);
  AddStrings(graph_, all, given);
  // A Program has tensors alone as inputs and outputs.
  if (has_types) RETURN_IF_ERROR(Find(all, given, found));
  if (!has_types) found.unchecked = graph_.node_count();
  for (const NodeRefusal& refusal : found.refused) check.refused.push_back(Described(refusal));
  check.unchecked = found.unchecked;
  check.later = found.later;
  check.engines = Sorted(found.engines);
  return check;
}

}  // namespace onnx_cudnn

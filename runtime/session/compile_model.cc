#include "runtime/session/compile_model.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file.h"
#include "runtime/base/parts_file.h"
#include "runtime/base/result_status.h"
#include "runtime/base/status.h"
#include "runtime/graph/op_library.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "runtime/ops/random_draw.h"
#include "runtime/session/arguments.h"
#include "runtime/session/check_options.h"
#include "runtime/session/compiled_model.h"
#include "runtime/session/edge.h"
#include "runtime/session/engines.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/load_replicas.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/open_device.h"
#include "runtime/session/optimized_graph.h"
#include "runtime/session/selected_plans.h"

namespace onnx_cudnn {
namespace {

// The parts of a compiled model until they are written.
class Parts {
 public:
  // The weights become parts of their own.
  absl::StatusOr<std::string> MessageOf(const Graph& graph) {
    return WriteModelWithout(graph, [&](const HostTensor& data) {
      kept_.push_back(data);
      return writer_.Share(
          {static_cast<const char*>(data.raw()), static_cast<size_t>(data.bytes())});
    });
  }
  void Add(std::string name, std::string bytes) { writer_.Add(std::move(name), std::move(bytes)); }
  absl::StatusOr<int64_t> WriteTo(const std::string& path) const { return writer_.WriteTo(path); }

 private:
  PartsWriter writer_;
  std::deque<HostTensor> kept_;  // whose bytes the writer views
};

bool DrawsRandomNumbers(const Graph& graph) {
  const std::vector<Node*> nodes = graph.TopologicalOrder();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return IsRandom(*node); });
}

// Adds the optimized model. Returns why there is none; empty: there is.
absl::StatusOr<std::string> AddOptimized(const Graph& model, const SessionOptions& options,
                                         const Target& target, Parts& parts) {
  constexpr std::string_view kWithout = "compiled without an optimized graph: ";
  // The numbers of a Node depend on its position in the model as loaded.
  if (DrawsRandomNumbers(model)) return absl::StrCat(kWithout, "the model draws random numbers");
  ASSIGN_OR_RETURN(const OptimizedGraph optimized, OptimizeGraph(model.Clone(), options, target));
  absl::StatusOr<std::string> message = parts.MessageOf(optimized.graph);
  const bool is_refused =
      absl::IsFailedPrecondition(message.status()) || absl::IsUnimplemented(message.status());
  if (is_refused) return absl::StrCat(kWithout, message.status().message());
  RETURN_IF_ERROR(message.status());
  parts.Add(kOptimizedPart, *std::move(message));
  return "";
}

// Those with plans, which are for one version.
std::vector<std::string> EnginesOf(const PlanFile& plans) {
  std::set<std::string> engines;
  for (const auto& [key, plan] : plans.entries) {
    if (plan.engine == "network") continue;
    engines.insert(absl::StrCat(plan.engine, " ", plan.engine_version));
  }
  return {engines.begin(), engines.end()};
}

// The plans of the request's cache that the Program of its inputs needs, and its partitions.
// `target` gets the name that its device has in the cache.
//   draft  the file without them, from which the Graph is read as a Session reads it: the
//   partitions
//          name its Nodes by their numbers
absl::StatusOr<SelectedPlans> PlansFor(const CompileRequest& request, Target& target,
                                       const SessionOptions& options,
                                       std::shared_ptr<const PartsFile> draft) {
  if (target.info.compute_capability == 0) return SelectedPlans();
  PlanFile cache;
  if (!request.options.plan_cache.empty()) {
    ASSIGN_OR_RETURN(cache, ReadPlanFile(request.options.plan_cache));
  }
  const auto entry = std::find_if(
      cache.entries.begin(), cache.entries.end(),
      [&](const auto& item) { return AreOneDevice(item.second.device, target.info.name); });
  const bool has_plans = entry != cache.entries.end();
  if (has_plans) target.info.name = entry->second.device;
  ASSIGN_OR_RETURN(const Graph graph, LoadModelPart(std::move(draft), kOptimizedPart));
  absl::StatusOr<SelectedPlans> selected =
      SelectPlans(graph, request.inputs, target, options, cache);
  // Without plans the file serves any inputs: these need not be some that the model takes.
  if (!selected.ok() && !has_plans && !absl::IsCancelled(selected.status())) return SelectedPlans();
  return selected;
}

// As ShapesIn of the Program of `inputs`. nullopt: an input is no tensor, or its dims are not
// given.
std::optional<std::string> ShapesOf(const Graph& model, const CompiledInputs& inputs) {
  std::vector<std::string> shapes;
  for (const Value* input : model.inputs()) {
    const auto given = inputs.dims.find(input->name());
    if (given == inputs.dims.end() && !input->is_static()) return std::nullopt;
    const Dims dims = given == inputs.dims.end() ? Dims(input->dims()) : given->second;
    shapes.push_back(absl::StrCat(input->name(), ToString(absl::MakeConstSpan(dims))));
  }
  return absl::StrJoin(shapes, ", ");
}

// Writes the parts to the file `path` and reads each model from it. The result maps the file, which
// may then be removed.
absl::StatusOr<std::shared_ptr<const PartsFile>> Draft(const Parts& parts,
                                                       const std::string& path) {
  RETURN_IF_ERROR(parts.WriteTo(path).status());
  const absl::Cleanup removes = [&] {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  };
  ASSIGN_OR_RETURN(const File file, File::Open(path));
  ASSIGN_OR_RETURN(auto draft, PartsFile::Open(file));
  for (const char* const part : {kModelPart, kOptimizedPart}) {
    if (draft->Has(part)) RETURN_IF_ERROR(LoadModelPart(draft, part).status());
  }
  return draft;
}

// The options of a Session on this host's GPU that loads the file.
SessionOptions OnThisGpu(SessionOptions options) {
  options.device = DeviceChoice::kCuda;
  options.devices.clear();
  options.target.clear();
  options.plan_cache.clear();  // the file's plans
  options.tune_budget_s = 0;
  options.first_program = FirstProgram::kBest;
  options.tune = TuneMode::kForeground;
  return options;
}

// The Program of `inputs`, compiled. nullptr: it runs as several.
absl::StatusOr<std::shared_ptr<ExecutorPool>> ProgramOf(const LoadedModel& model,
                                                        const CompiledInputs& inputs) {
  std::vector<TensorView> views;
  for (const ValueInfo& info : model.inputs()) {
    TensorView& view = views.emplace_back();
    view.dtype = info.dtype;
    const auto dims = inputs.dims.find(info.name);
    if (dims != inputs.dims.end()) {
      view.shape = dims->second;
    } else {
      for (const auto& dim : info.dims) view.shape.push_back(dim.value);
    }
    const auto value = inputs.values.find(info.name);
    if (value != inputs.values.end()) view.data = const_cast<void*>(value->second.raw());
  }
  std::vector<const TensorView*> pointers;
  for (const TensorView& view : views) pointers.push_back(&view);
  RETURN_IF_ERROR(model.device().device().MakeCurrent());
  auto pool = model.Prepare(pointers, /*callers_stream=*/nullptr);
  if (absl::IsUnimplemented(pool.status())) return nullptr;
  return pool;
}

// The form of each constant of the Program whose Step changes it, by the names of parts.
absl::StatusOr<std::map<std::string, HostTensor>> FormsOf(const Program& program,
                                                          const CompiledModel& compiled) {
  std::map<std::string, HostTensor> forms;
  for (const PlacedStep& step : program.steps) {
    for (const ConstantUse& use : step.constants) {
      const std::optional<std::string> part = compiled.FormPart(use);
      if (use.derived->recipe.empty() || !part.has_value() || forms.contains(*part)) continue;
      ASSIGN_OR_RETURN(forms[*part], use.derived->make(use.sources));
    }
  }
  return forms;
}

// Why this host cannot make the forms of weights; empty: it can.
absl::StatusOr<std::string> WhyNoForms(const Target& target, const SessionOptions& options) {
  if (target.info.compute_capability == 0) return "the CPU device takes weights as they are";
  const absl::StatusOr<OpenedDevice> opened = OpenDevice(OnThisGpu(options));
  if (absl::IsFailedPrecondition(opened.status())) return "this host has no usable GPU";
  RETURN_IF_ERROR(opened.status());
  const DeviceInfo& info = opened->target.target.info;
  const bool is_it = AreOneDevice(info.name, target.info.name) &&
                     info.compute_capability == target.info.compute_capability;
  return is_it ? "" : absl::StrCat("this host's GPU is ", info.name);
}

// Writes the file again with the forms of weights that the Steps of the Program want.
absl::Status AddForms(const CompileRequest& request, const std::string& path,
                      CompileReport& report) {
  ASSIGN_OR_RETURN(const auto replicas, LoadReplicas(OnThisGpu(request.options), {.path = path}));
  const LoadedModel& model = *replicas->first();
  const CompiledModel* const compiled = model.device().compiled();
  if (compiled == nullptr)
    return absl::InternalError(absl::StrCat(path, ": does not suit its GPU"));
  ASSIGN_OR_RETURN(const auto pool, ProgramOf(model, request.inputs));
  if (pool == nullptr) {
    report.without_forms = "it runs as several programs";
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto forms, FormsOf(pool->program(), *compiled));
  PartsWriter writer;
  for (const std::string_view part : compiled->file().parts()) {
    ASSIGN_OR_RETURN(const std::string_view bytes, compiled->file().Read(part));
    writer.AddView(std::string(part), bytes);
  }
  for (const auto& [part, form] : forms) {
    const auto* const data = static_cast<const char*>(form.raw());
    writer.AddView(part, {data, static_cast<size_t>(form.bytes())});
  }
  report.forms = static_cast<int>(forms.size());
  ASSIGN_OR_RETURN(report.bytes, writer.WriteTo(path));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompileReport> CompileModel(const Graph& model, const CompileRequest& request,
                                           const std::string& path) {
  const SessionOptions& asked = request.options;
  RETURN_IF_ERROR(CheckOptions(asked));
  ASSIGN_OR_RETURN(OwnedTarget owned, MakeTarget(request.target));
  RETURN_IF_ERROR(SetCapability(owned, asked.compute_capability));
  Target& target = owned.target;
  const SessionOptions options = ResolveOptions(asked, target.info.compute_capability > 0);
  target.numerics = {.tf32 = options.precision == PrecisionChoice::kTf32,
                     .nondeterminism = options.allow_nondeterministic};
  if (options.max_memory_bytes > 0) target.max_bytes = options.max_memory_bytes;
  Parts parts;
  ASSIGN_OR_RETURN(std::string message, parts.MessageOf(model));
  parts.Add(kModelPart, std::move(message));
  CompileReport report;
  ASSIGN_OR_RETURN(report.not_optimized, AddOptimized(model, options, target, parts));
  static std::atomic<int> drafts = 0;  // of this process: others may compile to the same path
  const std::string draft_path = absl::StrCat(path, ".", getpid(), ".", drafts++, ".draft");
  ASSIGN_OR_RETURN(const auto draft, Draft(parts, draft_path));
  SelectedPlans plans;
  if (report.not_optimized.empty()) {
    ASSIGN_OR_RETURN(plans, PlansFor(request, target, options, draft));
  }
  const CompiledFacts facts{.version = ThisVersion(),
                            .device = target.info.name,
                            .compute_capability = target.info.compute_capability,
                            .optimization_level = asked.optimization_level,
                            .precision = asked.precision,
                            .partitioner = asked.partitioner,
                            .disabled_passes = asked.disabled_passes,
                            .keep_f32 = asked.keep_f32,
                            .engines = EnginesOf(plans.file),
                            .not_optimized = report.not_optimized};
  parts.Add(kFactsPart, ToText(facts));
  if (!plans.file.entries.empty()) parts.Add(kPlansPart, PlanFileText(plans.file));
  const std::optional<std::string> shapes = ShapesOf(model, request.inputs);
  report.has_cover = shapes.has_value() && !plans.cover.empty();
  if (report.has_cover) {
    parts.Add(kPartitionsPart, absl::StrCat(CoverKey(*shapes, options), "\n", plans.cover));
  }
  report.plans = static_cast<int>(plans.file.entries.size());
  report.has_partitions = plans.has_partitions;
  ASSIGN_OR_RETURN(report.bytes, parts.WriteTo(path));
  if (!report.not_optimized.empty()) return report;
  ASSIGN_OR_RETURN(report.without_forms, WhyNoForms(target, asked));
  if (report.without_forms.empty()) RETURN_IF_ERROR(AddForms(request, path, report));
  return report;
}

Result<CompileReport> CompileModelFile(const std::string& model, CompileRequest request,
                                       const ChooseInputs& choose, const std::string& path) {
  return AtEdge<CompileReport>([&]() -> absl::StatusOr<CompileReport> {
    RETURN_IF_ERROR(LoadOpLibraries(request.options.op_libraries));
    ASSIGN_OR_RETURN(const Graph graph, LoadModel(model));
    std::vector<ValueInfo> infos;
    for (const Value* input : graph.inputs()) {
      infos.push_back(DescribeValue(input->name(), input->type()));
    }
    ASSIGN_OR_RETURN(request.inputs, StatusOr(choose(infos)));
    ASSIGN_OR_RETURN(request.inputs.values, ValuesToRead(graph, infos, request.inputs.values));
    return CompileModel(graph, request, path);
  });
}

}  // namespace onnx_cudnn

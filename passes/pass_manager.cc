#include "passes/pass_manager.h"

#include <algorithm>
#include <chrono>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/pipelines.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/graph/verify.h"

namespace onnx_cudnn {
namespace {

size_t Mix(size_t hash, const auto&... more) { return absl::HashOf(hash, more...); }

size_t MixConstant(size_t hash, const HostTensor& tensor) {
  return Mix(hash, tensor.dtype(), tensor.dims(), tensor.raw());
}

size_t MixType(size_t hash, const Type& type) {
  hash = Mix(hash, type.kind, type.dtype, type.ranked);
  for (const Dim& d : type.dims) hash = Mix(hash, d.value, d.symbol);
  return hash;
}

struct MixAttribute {
  size_t hash;
  size_t operator()(const HostTensor& tensor) const { return MixConstant(hash, tensor); }
  size_t operator()(const Type& type) const { return MixType(hash, type); }
  size_t operator()(const std::vector<HostTensor>& tensors) const {
    size_t mixed = hash;
    for (const HostTensor& t : tensors) mixed = MixConstant(mixed, t);
    return mixed;
  }
  size_t operator()(const auto& value) const { return Mix(hash, value); }
};

// A hash of structure, attributes and types; for constants the address of their bytes. Differs
// after every change by a Pass.
size_t Fingerprint(const Graph& graph) {
  size_t hash = 0;
  for (const Value* v : graph.Values()) {
    hash = MixType(Mix(hash, v->id(), v->is_graph_input()), v->type());
    if (v->is_constant()) hash = MixConstant(hash, v->constant());
  }
  for (int id = 0; id < graph.node_ids(); ++id) {
    const Node* node = graph.node(id);
    if (node == nullptr) continue;
    hash = Mix(hash, id, node->op(), node->domain(), node->opset());
    for (const Value* v : node->inputs()) hash = Mix(hash, v == nullptr ? -1 : v->id());
    for (const Value* v : node->outputs()) hash = Mix(hash, v == nullptr ? -1 : v->id());
    for (const auto& [name, value] : node->attrs()) {
      hash = std::visit(MixAttribute{Mix(hash, name, value.index())}, value);
    }
    for (const auto& [name, body] : node->bodies()) hash = Mix(hash, name, Fingerprint(*body));
  }
  for (const GraphOutput& output : graph.outputs())
    hash = Mix(hash, output.name, output.value->id());
  return hash;
}

absl::Status CheckDisabled(const std::set<std::string, std::less<>>& disabled,
                           const std::vector<std::unique_ptr<Pass>>& passes) {
  std::vector<std::string> names = PassNames();
  for (const auto& pass : passes) names.emplace_back(pass->name());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : disabled) {
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("no pass is called \"", name, "\"; there are: ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RunVerified(Graph& graph, Pass& pass, PassContext& context) {
  const size_t before = Fingerprint(graph);
  ASSIGN_OR_RETURN(const bool changed, pass.Run(graph, context));
  RETURN_IF_ERROR(Verify(graph));
  if (!changed && Fingerprint(graph) != before) {
    return absl::InternalError("it changed the graph and said that it did not");
  }
  return changed;
}

}  // namespace

absl::StatusOr<std::vector<PassRun>> RunPasses(Graph& graph,
                                               const std::vector<std::unique_ptr<Pass>>& passes,
                                               const PassManagerOptions& options,
                                               PassContext& context) {
  RETURN_IF_ERROR(CheckDisabled(options.disabled, passes));
  const bool verify_each = options.verify == VerifyWhen::kAfterEachPass;
  const auto report = [&](size_t done, std::string_view name) {
    return options.reports_progress
               ? ReportProgress(ProgressStage::kOptimizing, static_cast<int64_t>(done),
                                static_cast<int64_t>(passes.size()), name)
               : CheckCancelled();
  };
  std::vector<PassRun> runs;
  for (size_t i = 0; i < passes.size(); ++i) {
    const auto& pass = passes[i];
    if (options.disabled.contains(pass->name())) continue;
    RETURN_IF_ERROR(report(i, pass->name()));
    PassRun run{.name = std::string(pass->name()), .nodes_before = graph.node_count()};
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<bool> changed =
        verify_each ? RunVerified(graph, *pass, context) : pass->Run(graph, context);
    if (!changed.ok()) return Annotate(changed.status(), absl::StrCat("pass ", pass->name()));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    run.changed = *changed;
    run.ms = took.count();
    run.nodes_after = graph.node_count();
    if (options.after_pass) options.after_pass(run, graph);
    runs.push_back(std::move(run));
  }
  if (!verify_each) RETURN_IF_ERROR(Annotate(Verify(graph), "after the passes"));
  RETURN_IF_ERROR(report(passes.size(), ""));
  return runs;
}

}  // namespace onnx_cudnn

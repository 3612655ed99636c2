#include <algorithm>
#include <initializer_list>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/bind_partly.h"
#include "passes/body_programs.h"
#include "passes/build_program.h"
#include "passes/cut_graph.h"
#include "passes/infer_and_fold.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/unroll.h"
#include "passes/sweep.h"
#include "runtime/base/status.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

// Larger than any device; sums over the Values of a Graph cannot overflow.
constexpr int64_t kMostValueBytes = int64_t{1} << 42;

using InputDims = std::map<std::string, Dims, std::less<>>;

std::string Input(const Value& value) {
  return absl::StrCat("input \"", value.name(), "\" ", ToString(value.type()));
}

absl::Status CheckNames(const Graph& graph, const InputDims& input_dims) {
  for (const auto& [name, dims] : input_dims) {
    const auto named = [&](const Value* v) { return v->name() == name; };
    if (std::any_of(graph.inputs().begin(), graph.inputs().end(), named)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has no input \"", name,
        "\"; it has: ", absl::StrJoin(graph.inputs(), ", ", [](std::string* out, const Value* v) {
          out->append(v->name());
        })));
  }
  return absl::OkStatus();
}

// Numbers for the dims of graph inputs; a symbol has the same number everywhere.
class Binder {
 public:
  absl::Status Bind(Graph& graph, Value& input, const InputDims& input_dims) {
    const Type& type = input.type();
    if (!type.is_tensor()) {
      return absl::UnimplementedError(absl::StrCat(Input(input),
                                                   ": only tensors can be graph inputs, not yet ",
                                                   "sequences, optionals or maps"));
    }
    auto given = input_dims.find(input.name());
    if (given == input_dims.end()) {
      if (type.is_static()) return CheckSize(input);
      return absl::InvalidArgumentError(
          absl::StrCat(Input(input), " needs dims: give a number for each"));
    }
    const Dims& dims = given->second;
    if (type.ranked && type.dims.size() != dims.size()) {
      return absl::InvalidArgumentError(absl::StrCat(Input(input), " has rank ", type.dims.size(),
                                                     ", got ",
                                                     ToString(absl::MakeConstSpan(dims))));
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      RETURN_IF_ERROR(BindDim(input, type.ranked ? type.dims[i] : Dim(), dims[i]));
    }
    graph.SetType(input, Type::Tensor(type.dtype, dims));
    return CheckSize(input);
  }

 private:
  absl::Status BindDim(const Value& input, const Dim& dim, int64_t number) {
    if (number < 0) {
      return absl::InvalidArgumentError(absl::StrCat(Input(input), ": negative dim ", number));
    }
    if (dim.value >= 0 && dim.value != number) {
      return absl::InvalidArgumentError(
          absl::StrCat(Input(input), ": the model fixes a dim to ", dim.value, ", got ", number));
    }
    if (dim.value >= 0 || dim.symbol.empty()) return absl::OkStatus();
    auto [it, added] = symbols_.try_emplace(dim.symbol, number, input.name());
    if (added || it->second.first == number) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(Input(input), ": ", dim.symbol, " is ",
                                                   it->second.first, " in input \"",
                                                   it->second.second, "\", got ", number));
  }

  static absl::Status CheckSize(const Value& input) {
    return Annotate(CheckedBytes(input.dtype(), input.dims()).status(), Input(input));
  }

  // With the input that defined it.
  std::map<std::string, std::pair<int64_t, std::string>> symbols_;
};

void ForgetShape(Graph& graph, Value& value) {
  if (!value.type().is_tensor()) return;
  Type type = value.type();
  type.ranked = false;
  type.dims.clear();
  graph.SetType(value, std::move(type));
}

bool HasStaticInputs(const Graph& graph) {
  return std::all_of(graph.inputs().begin(), graph.inputs().end(),
                     [](const Value* v) { return v->is_static(); });
}

using MakePass = std::unique_ptr<Pass> (*)();

// Runs passes that depend on the Target, and cleans up what they leave: unused Nodes, constants to
// fold. common-subexpressions is left out, since it would merge the copies of clone-cheap.
absl::Status RewriteAndClean(std::initializer_list<MakePass> passes, Graph& graph,
                             const BuildOptions& options, PassContext& context) {
  PassManagerOptions manager{.disabled = options.disabled_passes};
  bool any_changed = false;
  for (const MakePass make : passes) {
    const std::unique_ptr<Pass> pass = make();
    if (context.target == nullptr || manager.disabled.contains(pass->name())) continue;
    ASSIGN_OR_RETURN(const bool changed, pass->Run(graph, context));
    any_changed |= changed;
  }
  if (!any_changed) return absl::OkStatus();
  manager.disabled.insert("common-subexpressions");
  return RunPasses(graph, MakePipeline(1), manager, context).status();
}

// Merges what has become equal (the positions of each layer), expands ops that no Engine of a GPU
// runs (Einsums whose products need numbers for dims, ONNX's functions), then fuses what an Engine
// runs as one op.
absl::Status FitToTarget(Graph& graph, const BuildOptions& options, PassContext& context) {
  RETURN_IF_ERROR(RewriteAndClean({MergeIndices, LowerEinsum, LowerAttention, Decompose}, graph,
                                  options, context));
  RETURN_IF_ERROR(RewriteAndClean({FuseAttention}, graph, options, context));
  RETURN_IF_ERROR(RewriteAndClean({FuseProjections}, graph, options, context));
  return RewriteAndClean({GatherRows}, graph, options, context);
}

void BindValues(Graph& graph, const std::map<std::string, HostTensor, std::less<>>& values) {
  for (Value* input : graph.inputs()) {
    auto given = values.find(input->name());
    if (given == values.end()) continue;
    graph.ReplaceAllUses(*input, graph.AddConstant(given->second, input->name()));
  }
}

std::string Named(const Value& value) {
  return absl::StrCat("\"", value.name(), "\" ", ToString(value.type()));
}

// Whether folding alone computes `node`, by OpDef::evaluate.
bool IsEvaluated(const Node& node) {
  const OpDef* op = FindOp(node);
  return op != nullptr && op->reference == nullptr && op->evaluate != nullptr;
}

// Why such a Node was not folded.
absl::Status NotEvaluated(const Node& node) {
  for (const Value* v : node.inputs()) {
    if (v == nullptr || v->is_constant()) continue;
    return absl::UnimplementedError(
        absl::StrCat(FormOf(node), ": the shapes of its outputs follow from the elements of ",
                     Named(*v), ", which are not known before the Run"));
  }
  if (const Support support = CheckOp(node); !support)
    return absl::UnimplementedError(support.reason());
  RETURN_IF_ERROR(FindOp(node)->evaluate(node).status());
  return absl::UnimplementedError(
      absl::StrCat(FormOf(node), ": its outputs are larger than the limits of folding"));
}

absl::Status CheckValue(Graph& graph, Node& node, const Value& value) {
  const Type& type = value.type();
  if (!type.is_static()) return NotStatic(graph, node, value);
  const absl::StatusOr<int64_t> bytes = CheckedBytes(type.dtype, value.dims());
  if (bytes.ok() && *bytes <= kMostValueBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(Where(node), ": output \"", value.name(), "\" ",
                                                   ToString(type), " has more than ",
                                                   kMostValueBytes, " bytes"));
}

// Strings are computed by folding. Reports the reason for each Node that was not folded.
absl::Status CheckNoStrings(const Node& node) {
  if (!TouchesStrings(node)) return absl::OkStatus();
  const absl::Status status = EvaluateConstants(node).status();
  if (!status.ok()) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      Where(node), ": ", FormOf(node), ": its strings are above the limits of folding"));
}

// No Engine runs a Loop, so its iterations are copied, within `budget`.
absl::Status CheckNoLoop(const Node& node, const CopyBudget& budget) {
  if (node.op() != "Loop" || !node.domain().empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(Where(node), ": ", WhyLoopStays(node, budget)));
}

absl::Status CheckStatic(Graph& graph, const CopyBudget& budget);

absl::Status CheckNode(Graph& graph, Node& node, const CopyBudget& budget) {
  if (IsEvaluated(node)) return Annotate(NotEvaluated(node), Where(node));
  RETURN_IF_ERROR(CheckNoStrings(node));
  RETURN_IF_ERROR(CheckNoLoop(node, budget));
  for (auto& [name, body] : graph.MutableBodies(node)) {
    RETURN_IF_ERROR(Annotate(CheckStatic(*body, budget), absl::StrCat(Where(node), " ", name)));
  }
  for (const Value* v : node.outputs()) {
    if (v != nullptr) RETURN_IF_ERROR(CheckValue(graph, node, *v));
  }
  return absl::OkStatus();
}

absl::Status CheckStatic(Graph& graph, const CopyBudget& budget) {
  for (Node* node : graph.TopologicalOrder()) RETURN_IF_ERROR(CheckNode(graph, *node, budget));
  return absl::OkStatus();
}

// A Node whose inputs have no static type is not refused itself: what writes them is.
bool HasStaticInputs(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* v) { return v == nullptr || v->is_static(); });
}

// Adds the Nodes that are not static to `refusals`, unless inference has refused them already.
absl::Status NoteRefusals(Graph& graph, const CopyBudget& budget,
                          std::vector<NodeRefusal>& refusals) {
  std::set<int> refused;
  for (const NodeRefusal& refusal : refusals) refused.insert(refusal.id);
  for (Node* node : graph.TopologicalOrder()) {
    if (!HasStaticInputs(*node) || refused.contains(node->id())) continue;
    if (RunsBetweenPrograms(*node)) continue;
    const absl::Status status = CheckNode(graph, *node, budget);
    const bool is_large = absl::IsResourceExhausted(status);
    if (!IsRefusal(status) && !is_large) {
      RETURN_IF_ERROR(status);
    } else {
      refusals.push_back(RefusalOf(*node, status));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBodies(const Graph& graph, const BuildOptions& options) {
  for (const Node* node : graph.TopologicalOrder()) {
    if (!RunsFasterAsPrograms(graph, *node, options)) continue;
    return absl::UnimplementedError(
        absl::StrCat(Where(*node), ": its bodies run faster as programs of their own"));
  }
  return absl::OkStatus();
}

}  // namespace

void ForgetShapes(Graph& graph) {
  for (Value* v : graph.Values()) {
    if (v->producer() != nullptr) ForgetShape(graph, *v);
  }
  for (int id = 0; id < graph.node_ids(); ++id) {
    if (graph.node(id) == nullptr) continue;
    for (auto& [name, body] : graph.MutableBodies(*graph.node(id))) {
      for (Value* input : body->inputs()) ForgetShape(*body, *input);
      ForgetShapes(*body);
    }
  }
}

absl::Status NotStatic(Graph& graph, Node& node, const Value& value) {
  if (FindOp(node) == nullptr) {
    return absl::UnimplementedError(absl::StrCat(Where(node), ": ", CheckOp(node).reason()));
  }
  const std::vector<const Value*> deciders = UnknownDeciders(graph, node);
  for (const Value* v : deciders) {  // all shape operands of ONNX's ops are scalars or vectors
    if (!v->type().ranked || v->rank() <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Where(node), ": input ", Named(*v),
                     " decides a shape, so it must be a scalar or a vector"));
  }
  const auto append = [](std::string* out, const Value* v) { out->append(Named(*v)); };
  const std::string what =
      absl::StrCat(Where(node), ": ", FormOf(node), ": the shape of output ", Named(value));
  return absl::UnimplementedError(
      deciders.empty() ? absl::StrCat(what, " is not known for these inputs and attributes")
                       : absl::StrCat(what, " depends on data, the elements of ",
                                      absl::StrJoin(deciders, " and ", append),
                                      ", which are too many, or not computed by the model"));
}

absl::StatusOr<Graph> BindPartly(const Graph& graph, absl::Span<const Type> input_types,
                                 const BuildOptions& options, std::vector<NodeRefusal>& refusals) {
  Graph bound = graph.Clone();
  Binder binder;
  for (size_t i = 0; i < input_types.size(); ++i) {
    Value& input = *bound.inputs()[i];
    if (input.type().is_tensor() && input_types[i].is_static()) {
      Dims dims;
      for (const Dim& dim : input_types[i].dims) dims.push_back(dim.value);
      RETURN_IF_ERROR(binder.Bind(bound, input, {{input.name(), dims}}));
    } else {
      bound.SetType(input, input_types[i]);
    }
  }
  BindValues(bound, options.input_values);
  ForgetShapes(bound);
  SweepDead(bound);
  RETURN_IF_ERROR(InferAndFold(options.limits, options.remarks, &refusals).Run(bound));
  SweepDead(bound);
  return bound;
}

absl::StatusOr<Graph> BindShapes(const Graph& graph, const InputDims& input_dims,
                                 const BuildOptions& options, const Target* target) {
  RETURN_IF_ERROR(CheckNames(graph, input_dims));
  Graph bound = graph.Clone();
  Binder binder;
  for (Value* input : bound.inputs()) {
    // The type of what a node writes that the loader refused may be open.
    const bool is_open = !input->is_static() && !input_dims.contains(input->name());
    if (options.refusals != nullptr && is_open) continue;
    RETURN_IF_ERROR(binder.Bind(bound, *input, input_dims));
  }
  BindValues(bound, options.input_values);
  // Shapes that follow from static inputs have been inferred at import.
  if (!HasStaticInputs(graph) || !options.input_values.empty()) ForgetShapes(bound);
  SweepDead(bound);
  InferAndFold infer_and_fold(options.limits, options.remarks, options.refusals);
  RETURN_IF_ERROR(infer_and_fold.Run(bound));
  if (options.times != nullptr) options.times->fold_ms += infer_and_fold.fold_ms();
  SweepDead(bound);
  RETURN_IF_ERROR(CheckBodies(bound, options));
  PassContext context{.target = target,
                      .functions = options.functions,
                      .limits = options.limits,
                      .remarks = options.remarks};
  RETURN_IF_ERROR(FitToTarget(bound, options, context));
  RETURN_IF_ERROR(OwnOutputs()->Run(bound, context).status());
  const CopyBudget& budget = infer_and_fold.budget();
  RETURN_IF_ERROR(options.refusals == nullptr ? CheckStatic(bound, budget)
                                              : NoteRefusals(bound, budget, *options.refusals));
  return bound;
}

}  // namespace onnx_cudnn

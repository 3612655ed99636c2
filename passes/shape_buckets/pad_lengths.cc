#include "passes/shape_buckets/pad_lengths.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/bind_partly.h"
#include "passes/cut_graph.h"
#include "passes/rewrite/utils/inline_body.h"
#include "passes/shape_buckets/padder.h"
#include "passes/shape_buckets/rules.h"
#include "passes/sweep.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/ops/bounded.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kSmallestBucket = 16;

using Extents = std::vector<std::vector<Affine>>;  // by input, by axis

bool IsLength(const Dim& dim, int64_t number, const BucketChoice& choice) {
  return dim.value < 0 && number != 1 && !dim.symbol.empty() && !dim.made_up() &&
         choice.Has(dim.symbol);
}

// Of each symbol that is a length. One that is longer than another one by 1, like the keys of a
// decoder than its past, reaches the end of its bucket together with that.
std::map<std::string, int64_t> BucketsOf(absl::Span<const Type> types, absl::Span<const Dims> dims,
                                         const BucketChoice& choice) {
  std::map<std::string, int64_t> numbers, buckets;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Type& type = types[i];
    for (size_t j = 0; j < dims[i].size() && j < type.dims.size(); ++j) {
      if (IsLength(type.dims[j], dims[i][j], choice)) numbers[type.dims[j].symbol] = dims[i][j];
    }
  }
  for (const auto& [symbol, number] : numbers) {
    const bool follows = std::any_of(numbers.begin(), numbers.end(),
                                     [&](const auto& n) { return n.second + 1 == number; });
    buckets[symbol] = follows ? BucketOf(number - 1) + 1 : BucketOf(number);
  }
  return buckets;
}

std::vector<Type> InputTypes(const Graph& graph) {
  std::vector<Type> types;
  for (const Value* input : graph.inputs()) types.push_back(input->type());
  return types;
}

// The inputs of a Graph and the lengths in their dims.
struct Given {
  Lengths lengths;
  std::vector<LengthSource> sources;
  Extents extents;
};

absl::Status ReadInput(const Value& input, int index, const Dims& dims, const BucketChoice& choice,
                       const std::map<std::string, int64_t>& buckets,
                       std::map<std::string, int>& indices, Given& given) {
  const Type& type = input.type();
  const bool fits = type.is_tensor() && type.ranked && type.dims.size() == dims.size();
  std::vector<Affine>& extents = given.extents.emplace_back();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!fits || !IsLength(type.dims[i], dims[i], choice)) {
      extents.emplace_back(dims[i]);
      continue;
    }
    const std::string& symbol = type.dims[i].symbol;
    const auto [it, is_new] = indices.try_emplace(symbol, given.lengths.names.size());
    if (is_new) {
      given.lengths.names.push_back(symbol);
      given.lengths.most.push_back(buckets.at(symbol));
      given.lengths.numbers.push_back(dims[i]);
      given.sources.push_back({.input = index, .axis = static_cast<int>(i)});
    } else if (given.lengths.numbers[it->second] != dims[i]) {
      return absl::UnimplementedError(absl::StrCat(symbol, " has two numbers"));
    }
    extents.push_back(Affine::Length(it->second));
  }
  return absl::OkStatus();
}

absl::StatusOr<Given> ReadInputs(const Graph& graph, absl::Span<const Dims> dims,
                                 const BucketChoice& choice, const BuildOptions& options) {
  Given given;
  const std::map<std::string, int64_t> buckets = BucketsOf(InputTypes(graph), dims, choice);
  std::map<std::string, int> indices;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Value& input = *graph.inputs()[i];
    const size_t before = given.lengths.names.size();
    RETURN_IF_ERROR(
        ReadInput(input, static_cast<int>(i), dims[i], choice, buckets, indices, given));
    const bool is_read =
        input.dtype() == DType::kString || options.input_values.contains(input.name());
    if (is_read && given.lengths.names.size() > before) {
      return absl::UnimplementedError(
          absl::StrCat("the elements of input \"", input.name(), "\" are read before the Run"));
    }
  }
  if (given.lengths.names.empty()) {
    return absl::UnimplementedError("no input has a dim of such a name that is not 1");
  }
  return given;
}

Dims At(const std::vector<Affine>& extents, const std::vector<int64_t>& lengths) {
  Dims dims;
  for (const Affine& extent : extents) dims.push_back(extent.At(lengths));
  return dims;
}

// A copy of `graph` with dims at capacity; adds the lengths' inputs.
Graph AtCapacity(const Graph& graph, const Given& given, const BuildOptions& options,
                 std::vector<Value*>& scalars) {
  Graph copy = graph.Clone();
  for (size_t i = 0; i < given.extents.size(); ++i) {
    Value& input = *copy.inputs()[i];
    const auto value = options.input_values.find(input.name());
    if (value != options.input_values.end()) {
      copy.ReplaceAllUses(input, copy.AddConstant(value->second, input.name()));
    }
    copy.SetType(input, Type::Tensor(input.dtype(), At(given.extents[i], given.lengths.most)));
  }
  ForgetShapes(copy);
  SweepDead(copy);
  for (const std::string& name : given.lengths.names) {
    scalars.push_back(
        &copy.AddInput(absl::StrCat("length_of_", name), Type::Tensor(DType::kI64, {})));
  }
  return copy;
}

bool Touches(const Padder& padder, const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* v) {
    return v != nullptr && (padder.IsPadded(*v) || padder.DependsOnLengths(*v));
  });
}

absl::Status VisitExact(Padder& padder, Node& node) {
  RETURN_IF_ERROR(padder.Infer(node));
  if (ConstantFolder::StartsAt(node)) padder.Fold(node);
  for (const Value* v : node.outputs()) {
    if (v == nullptr || v->is_static() || (v->uses().empty() && !v->is_graph_output())) continue;
    return absl::UnimplementedError(absl::StrCat("the shape of \"", v->name(), "\" is not known"));
  }
  return absl::OkStatus();
}

absl::Status Visit(Padder& padder, Node& node);

std::vector<Value*> Present(absl::Span<Value* const> values) {
  std::vector<Value*> present(values.begin(), values.end());
  std::erase(present, nullptr);
  return present;
}

absl::Status VisitFunction(Padder& padder, Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) padder.ComputeOperand(node, i);
  RETURN_IF_ERROR(padder.Infer(node));
  ASSIGN_OR_RETURN(const Graph body, padder.functions()->expand(node));
  const int first = padder.graph().node_ids();
  InlineBody(body, Present(node.inputs()), padder.graph(), Present(node.outputs()));
  const int end = padder.graph().node_ids();  // in topological order
  for (int id = first; id < end; ++id) RETURN_IF_ERROR(Visit(padder, *padder.graph().node(id)));
  return absl::OkStatus();
}

absl::Status VisitPadded(Padder& padder, Node& node) {
  const PadRow* row = FindPadRow(node);
  if (row == nullptr) {
    const bool has_body = padder.functions() != nullptr && padder.functions()->has_body(node);
    if (has_body) return VisitFunction(padder, node);
    return absl::UnimplementedError("it has no rule for a padded axis");
  }
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    if ((row->shape_operands >> i & 1) == 0) padder.ComputeOperand(node, i);
  }
  RETURN_IF_ERROR(row->rule(padder, node));
  return padder.status();
}

absl::Status Visit(Padder& padder, Node& node) {
  RETURN_IF_ERROR(CheckCancelled());
  if (IsBoundedForm(node)) return Annotate(PadBounded(padder, node), Where(node));
  ASSIGN_OR_RETURN(const bool computed, ComputeElements(padder, node));
  if (computed) return padder.status();
  if (Touches(padder, node)) return Annotate(VisitPadded(padder, node), Where(node));
  return Annotate(VisitExact(padder, node), Where(node));
}

Extents ReadOutputs(Padder& padder) {
  Graph& graph = padder.graph();
  Extents extents;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Value& value = *graph.outputs()[i].value;
    graph.SetOutput(static_cast<int>(i), padder.Computed(value));
    std::vector<Affine>& of_output = extents.emplace_back();
    for (const PaddedAxis& axis : padder.AxesOf(*graph.outputs()[i].value)) {
      of_output.push_back(axis.extent);
    }
  }
  return extents;
}

using Substitution = std::optional<std::pair<int, Affine>>;

// Whether it holds in this Run.
bool Holds(const Substitution& substitution, const Given& given) {
  return substitution.has_value() && given.lengths.numbers[substitution->first] ==
                                         substitution->second.At(given.lengths.numbers);
}

absl::Status SetInputAxes(Padder& padder, const Given& given) {
  for (size_t i = 0; i < given.extents.size(); ++i) {
    PaddedAxes axes;
    for (const Affine& extent : given.extents[i]) {
      axes.push_back({.extent = extent, .zeros = true});
      padder.RequireNotNegative(extent);
    }
    RETURN_IF_ERROR(padder.SetAxes(*padder.graph().inputs()[i], std::move(axes)));
  }
  return absl::OkStatus();
}

// Two extents are equal in this Run. The model needs them to be, so one length follows.
void Substitute(const std::pair<int, Affine>& substitution, Given& given) {
  for (std::vector<Affine>& extents : given.extents) {
    for (Affine& extent : extents) extent = extent.With(substitution.first, substitution.second);
  }
}

// One walk through the Graph.
absl::StatusOr<PaddedGraph> Pad(const Graph& graph, const Given& given, const BuildOptions& options,
                                Substitution& substitution) {
  std::vector<Value*> scalars;
  PaddedGraph padded{.graph = AtCapacity(graph, given, options, scalars)};
  Padder padder(padded.graph, given.lengths, scalars, options.functions, options.limits);
  RETURN_IF_ERROR(SetInputAxes(padder, given));
  for (Node* node : padded.graph.TopologicalOrder()) {
    const absl::Status status = Visit(padder, *node);
    substitution = padder.substitution();
    RETURN_IF_ERROR(status);
  }
  for (const GraphOutput& output : padded.graph.outputs()) {
    if (!output.value->is_static())
      return absl::UnimplementedError("an output has no static shape");
  }
  padded.output_extents = ReadOutputs(padder);
  RETURN_IF_ERROR(padder.status());
  padded.lengths = given.sources;
  padded.input_extents = given.extents;
  padded.conditions = padder.conditions();
  SweepDead(padded.graph);
  return padded;
}

// Of a Node that finds elements, the part that a Program runs is padded; `form` is how it is split.
absl::Status VisitOrSplit(Padder& padder, Node& node, std::optional<BoundedForm>& form) {
  if (!RunsBetweenPrograms(node) && node.bodies().empty()) return Visit(padder, node);
  RETURN_IF_ERROR(Annotate(padder.Infer(node), Where(node)));
  form = BoundedFormOf(node);
  if (!form.has_value()) {
    return absl::UnimplementedError(absl::StrCat(Where(node), ": it runs between programs"));
  }
  return Visit(padder, *ReplaceByBounded(padder.graph(), node, *form).bounded);
}

bool IsBehind(const Node& node, const absl::flat_hash_set<const Node*>& refused) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* v) {
    return v != nullptr && v->producer() != nullptr && refused.contains(v->producer());
  });
}

// One walk that goes on behind Nodes that cannot be padded.
absl::StatusOr<UnpaddedNodes> Collect(const Graph& graph, const Given& given,
                                      const BuildOptions& options, Substitution& substitution) {
  std::vector<Value*> scalars;
  Graph copy = AtCapacity(graph, given, options, scalars);
  Padder padder(copy, given.lengths, scalars, options.functions, options.limits);
  RETURN_IF_ERROR(SetInputAxes(padder, given));
  const std::vector<Node*> originals = graph.TopologicalOrder();  // a clone's ids count them
  UnpaddedNodes unpadded;
  for (Node* node : copy.TopologicalOrder()) {
    const Node& original = *originals[node->id()];
    if (!IsBehind(original, unpadded.nodes)) {
      std::optional<BoundedForm> form;
      const absl::Status status = VisitOrSplit(padder, *node, form);
      if (status.ok() && !form.has_value()) continue;
      if (absl::IsCancelled(status)) return status;
      substitution = padder.substitution();
      if (!status.ok() && Holds(substitution, given)) return status;
      if (status.ok()) {
        unpadded.bounded[&original] = *std::move(form);
      } else if (!form.has_value() && RunsAlone(original)) {
        unpadded.alone.insert(&original);
      } else {
        unpadded.reasons.emplace_back(status.message());
      }
    }
    unpadded.nodes.insert(&original);
  }
  substitution.reset();
  return unpadded;
}

// The result of `attempt`, which asks for substitutions until it has one.
template <typename Attempt>
auto AfterSubstitutions(const Graph& graph, absl::Span<const Dims> dims, const BucketChoice& choice,
                        const BuildOptions& options, Attempt attempt)
    -> decltype(attempt(graph, Given(), options, std::declval<Substitution&>())) {
  ASSIGN_OR_RETURN(Given given, ReadInputs(graph, dims, choice, options));
  while (true) {
    Substitution substitution;
    auto result = attempt(graph, given, options, substitution);
    if (result.ok() || !Holds(substitution, given)) return result;
    Substitute(*substitution, given);
  }
}

}  // namespace

absl::StatusOr<UnpaddedNodes> FindUnpadded(const Graph& graph, absl::Span<const Dims> dims,
                                           const BucketChoice& choice,
                                           const BuildOptions& options) {
  return AfterSubstitutions(graph, dims, choice, options, Collect);
}

bool BucketChoice::Has(const std::string& symbol) const {
  return all || std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

int64_t BucketOf(int64_t length) {
  int64_t bucket = kSmallestBucket;
  while (bucket < length) {
    const int64_t between = bucket + bucket / 2;
    if (between >= length) return between;
    bucket *= 2;
  }
  return bucket;
}

std::vector<Dims> BucketDims(absl::Span<const Type> types, absl::Span<const Dims> dims,
                             const BucketChoice& choice) {
  const std::map<std::string, int64_t> by_symbol = BucketsOf(types, dims, choice);
  std::vector<Dims> buckets(dims.begin(), dims.end());
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t j = 0; j < dims[i].size() && j < types[i].dims.size(); ++j) {
      if (!IsLength(types[i].dims[j], dims[i][j], choice)) continue;
      buckets[i][j] = by_symbol.at(types[i].dims[j].symbol);
    }
  }
  return buckets;
}

std::vector<Dims> BucketDims(const Graph& graph, absl::Span<const Dims> dims,
                             const BucketChoice& choice) {
  return BucketDims(InputTypes(graph), dims, choice);
}

absl::StatusOr<PaddedGraph> PadLengths(const Graph& graph, absl::Span<const Dims> dims,
                                       const BucketChoice& choice, const BuildOptions& options) {
  return AfterSubstitutions(graph, dims, choice, options, Pad);
}

absl::StatusOr<std::vector<int64_t>> LengthsOf(const PaddedGraph& padded,
                                               absl::Span<const Dims> dims) {
  std::vector<int64_t> lengths;
  for (const LengthSource& source : padded.lengths) {
    lengths.push_back(dims[source.input][source.axis]);
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dims expected = At(padded.input_extents[i], lengths);
    if (dims[i] == expected) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("input ", i, " has dims ", ToString(absl::MakeConstSpan(dims[i])), ", not ",
                     ToString(absl::MakeConstSpan(expected)), " like its others"));
  }
  const auto holds = [&](const Affine& number) { return number.At(lengths) >= 0; };
  if (!std::all_of(padded.conditions.begin(), padded.conditions.end(), holds)) {
    return absl::FailedPreconditionError(
        "a slice or a range is outside of its axis, or another length is the larger one");
  }
  return lengths;
}

}  // namespace onnx_cudnn

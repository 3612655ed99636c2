#include "passes/rewrite/utils/unroll.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

const Graph& BodyOf(const Node& node) { return *node.bodies().find("body")->second; }

// The inputs of the op itself, before captures.
int OwnInputs(const Node& node) { return static_cast<int>(node.inputs().size()) - node.captures(); }

std::string_view WhyNot(const Node& node, std::optional<int64_t> iterations, CopyBudget& budget) {
  if (!iterations) return "the number of iterations is not known";
  if (*iterations <= 0) return "it has no iteration";
  return budget.Take(BodyOf(node), *iterations) ? "" : "the copies of its body would be too many";
}

// The states between iterations, and the results that each iteration adds to the stacked outputs.
struct Iterations {
  std::vector<Value*> states;
  std::vector<std::vector<Value*>> stacks;

  // Takes the results of an iteration, except the first `skipped`.
  void Take(const std::vector<Value*>& results, size_t skipped) {
    stacks.resize(results.size() - skipped - states.size());
    for (Value*& state : states) state = results[skipped++];
    for (std::vector<Value*>& stack : stacks) stack.push_back(results[skipped++]);
  }
};

void ReplaceOutputs(Graph& graph, Node& node, const Iterations& iterations,
                    const std::vector<int64_t>& stack_axes) {
  const size_t states = iterations.states.size();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (!node.has_output(static_cast<int>(i))) continue;
    Value& result = i < states
                        ? *iterations.states[i]
                        : Stack(graph, iterations.stacks[i - states], stack_axes[i - states]);
    graph.ReplaceAllUses(*node.outputs()[i], result);
  }
}

// Whether the body takes the Node's inputs from `first` on, after `given` inputs of its own, and
// returns the Node's outputs after `kept` results.
bool Fits(const Node& node, int first, int given, int states, int kept) {
  const Graph& body = BodyOf(node);
  const auto own = node.inputs().subspan(first);
  const int results = static_cast<int>(body.outputs().size()) - kept;
  return std::find(own.begin(), own.end(), nullptr) == own.end() &&
         body.inputs().size() == given + own.size() && states >= 0 && results >= states &&
         results >= static_cast<int>(node.outputs().size());
}

constexpr std::string_view kNoFit = "its body does not fit it";

std::vector<int64_t> IntsOr(const Node& node, std::string_view name, size_t size) {
  return node.attrs().Ints(name, std::vector<int64_t>(size, 0));
}

// The inputs of a Scan after its states are scanned, its results after its states are stacked.
struct ScanForm {
  int states;
  std::vector<int64_t> axes, backwards;                // of scanned inputs
  std::vector<int64_t> stack_axes, stacked_backwards;  // of stacked results
};

std::optional<ScanForm> FormOf(const Node& node) {
  const int64_t scanned = node.attrs().Int("num_scan_inputs", 1);
  if (scanned < 1 || scanned > OwnInputs(node)) return std::nullopt;
  ScanForm form{.states = OwnInputs(node) - static_cast<int>(scanned)};
  if (!Fits(node, 0, 0, form.states, 0)) return std::nullopt;
  const size_t stacked = BodyOf(node).outputs().size() - form.states;
  form.axes = IntsOr(node, "scan_input_axes", scanned);
  form.backwards = IntsOr(node, "scan_input_directions", scanned);
  form.stack_axes = IntsOr(node, "scan_output_axes", stacked);
  form.stacked_backwards = IntsOr(node, "scan_output_directions", stacked);
  if (form.axes.size() != static_cast<size_t>(scanned) ||
      form.backwards.size() != form.axes.size() || form.stack_axes.size() != stacked ||
      form.stacked_backwards.size() != stacked) {
    return std::nullopt;
  }
  return form;
}

// The extent of the scanned axes.
std::optional<int64_t> ScanLength(const Node& node, const ScanForm& form) {
  const Value& input = node.input(form.states);
  if (!input.is_static()) return std::nullopt;
  const int64_t axis = form.axes[0] < 0 ? form.axes[0] + input.rank() : form.axes[0];
  if (axis < 0 || axis >= input.rank()) return std::nullopt;
  return input.dim(static_cast<int>(axis));
}

Value& AddScalar(Graph& graph, int64_t value) {
  return graph.AddConstant(HostTensor::Of<int64_t>(DType::kI64, {}, {value}));
}

// Adds the slices of the scanned inputs for one iteration.
void AddSlices(Graph& graph, const Node& node, const ScanForm& form, int64_t iteration,
               int64_t length, std::vector<Value*>& inputs) {
  for (size_t i = 0; i < form.axes.size(); ++i) {
    Value& scanned = node.input(form.states + static_cast<int>(i));
    Value& index = AddScalar(graph, form.backwards[i] != 0 ? length - 1 - iteration : iteration);
    Node& slice = graph.AddNode(
        {.op = "Gather", .inputs = {&scanned, &index}, .attrs = {{"axis", form.axes[i]}}});
    inputs.push_back(&slice.output(0));
  }
}

Match UnrollScan(Graph& graph, Node& node, CopyBudget& budget) {
  const std::optional<ScanForm> form = FormOf(node);
  if (!form) return Match::No(node, kNoFit);
  const std::optional<int64_t> length = ScanLength(node, *form);
  if (const std::string_view why = WhyNot(node, length, budget); !why.empty())
    return Match::No(node, why);
  Iterations iterations;
  iterations.states.assign(node.inputs().begin(), node.inputs().begin() + form->states);
  for (int64_t iteration = 0; iteration < *length; ++iteration) {
    std::vector<Value*> inputs = iterations.states;
    AddSlices(graph, node, *form, iteration, *length, inputs);
    inputs.insert(inputs.end(), node.inputs().end() - node.captures(), node.inputs().end());
    iterations.Take(CopyBody(BodyOf(node), inputs, graph), 0);
  }
  for (size_t i = 0; i < iterations.stacks.size(); ++i) {
    if (form->stacked_backwards[i] != 0)
      std::reverse(iterations.stacks[i].begin(), iterations.stacks[i].end());
  }
  ReplaceOutputs(graph, node, iterations, form->stack_axes);
  return Match::Changed();
}

bool IsTrue(const HostTensor& condition) {
  return condition.dtype() == DType::kBool && condition.elements() == 1 &&
         condition.data<uint8_t>()[0] != 0;
}

// Whether the condition that the body returns is its input condition or true.
bool KeepsCondition(const Graph& body) {
  const Value* condition = body.outputs()[0].value;
  while (condition->producer() != nullptr && condition->producer()->op() == "Identity")
    condition = &condition->producer()->input(0);
  return condition->is_constant() ? IsTrue(condition->constant()) : condition == body.inputs()[1];
}

std::optional<int64_t> TripCount(const Node& node) {
  const bool is_conditional = node.has_input(1) && !node.input(1).is_constant();
  if (node.has_input(1) && !is_conditional && !IsTrue(node.input(1).constant())) return 0;
  if (!node.has_input(0) || !node.input(0).is_constant()) return std::nullopt;
  const absl::StatusOr<std::vector<int64_t>> count = ToInts(node.input(0).constant());
  if (!count.ok() || count->size() != 1) return std::nullopt;
  if (count->front() <= 0) return 0;
  if (is_conditional || !KeepsCondition(BodyOf(node))) return std::nullopt;
  return count->front();
}

// The stack for zero iterations: the dims of `result` with an extent of 0 before them.
Value& StackOfNone(Graph& graph, Value& result) {
  Value& none = graph.AddConstant(HostTensor::Ints({0}));
  Value& shape = graph.AddNode({.op = "Shape", .inputs = {&result}}).output(0);
  Value& dims =
      graph.AddNode({.op = "Concat", .inputs = {&none, &shape}, .attrs = {{"axis", int64_t{0}}}})
          .output(0);
  HostTensor zero = HostTensor::Allocate(result.dtype(), {1});  // only its dtype is read
  std::memset(zero.mutable_raw(), 0, zero.bytes());
  return graph
      .AddNode({.op = "ConstantOfShape", .inputs = {&dims}, .attrs = {{"value", std::move(zero)}}})
      .output(0);
}

// Inputs of a Loop's body before its states: the iteration and the condition.
constexpr int kGiven = 2;

Value& AddTrue(Graph& graph) {
  return graph.AddConstant(HostTensor::Of<bool>(DType::kBool, {}, {true}));
}

std::vector<Value*> CopyIteration(Graph& graph, const Node& loop, int64_t iteration,
                                  Value& condition, const std::vector<Value*>& states) {
  std::vector<Value*> inputs = {&AddScalar(graph, iteration), &condition};
  inputs.insert(inputs.end(), states.begin(), states.end());
  inputs.insert(inputs.end(), loop.inputs().end() - loop.captures(), loop.inputs().end());
  return CopyBody(BodyOf(loop), inputs, graph);
}

// For a Loop without iterations: the states are unchanged. The dims of its empty stacks come from a
// copy of the body that is not used otherwise.
Match SkipLoop(Graph& graph, Node& node, const std::vector<Value*>& states, CopyBudget& budget) {
  const size_t outputs = node.outputs().size();
  std::vector<Value*> results = states;
  if (outputs > states.size()) {
    for (size_t i = states.size(); i < outputs; ++i) {
      const Type& type = BodyOf(node).outputs()[i + 1].value->type();
      if (node.has_output(static_cast<int>(i)) && !kMovableTypes.Has(type.dtype))
        return Match::No(
            node, "it has no iteration, and an output that iterations stack has no known type");
    }
    if (!budget.Take(BodyOf(node), 1))
      return Match::No(node, "the copies of its body would be too many");
    const std::vector<Value*> copied = CopyIteration(graph, node, 0, AddTrue(graph), states);
    for (size_t i = states.size(); i < outputs; ++i) {
      results.push_back(node.has_output(static_cast<int>(i)) ? &StackOfNone(graph, *copied[i + 1])
                                                             : nullptr);
    }
  }
  for (size_t i = 0; i < outputs; ++i) {
    if (node.has_output(static_cast<int>(i))) {
      graph.ReplaceAllUses(*node.outputs()[i], *results[i]);
    }
  }
  return Match::Changed();
}

Match UnrollLoop(Graph& graph, Node& node, CopyBudget& budget) {
  const int first = std::min(kGiven, OwnInputs(node)), states = OwnInputs(node) - first;
  if (!Fits(node, first, kGiven, states, 1)) return Match::No(node, kNoFit);
  Iterations iterations;
  iterations.states.assign(node.inputs().begin() + first, node.inputs().begin() + first + states);
  const std::optional<int64_t> count = TripCount(node);
  if (count == 0) return SkipLoop(graph, node, iterations.states, budget);
  if (const std::string_view why = WhyNot(node, count, budget); !why.empty())
    return Match::No(node, why);
  Value& condition = AddTrue(graph);
  for (int64_t iteration = 0; iteration < *count; ++iteration) {
    iterations.Take(CopyIteration(graph, node, iteration, condition, iterations.states), 1);
  }
  ReplaceOutputs(graph, node, iterations, std::vector<int64_t>(iterations.stacks.size(), 0));
  return Match::Changed();
}

}  // namespace

Value& Stack(Graph& graph, std::vector<Value*> values, int64_t axis) {
  Value& axes = graph.AddConstant(HostTensor::Ints({axis}));
  for (Value*& v : values) v = &graph.AddNode({.op = "Unsqueeze", .inputs = {v, &axes}}).output(0);
  return graph.AddNode({.op = "Concat", .inputs = std::move(values), .attrs = {{"axis", axis}}})
      .output(0);
}

Match Unroll(Graph& graph, Node& node, CopyBudget& budget) {
  if (!node.domain().empty()) return Match::None();
  if (node.op() == "Scan") return UnrollScan(graph, node, budget);
  return node.op() == "Loop" ? UnrollLoop(graph, node, budget) : Match::None();
}

std::string WhyLoopStays(const Node& loop, const CopyBudget& budget) {
  const int first = std::min(kGiven, OwnInputs(loop)), states = OwnInputs(loop) - first;
  if (!Fits(loop, first, kGiven, states, 1)) return std::string(kNoFit);
  const std::optional<int64_t> iterations = TripCount(loop);
  if (!iterations.has_value()) {
    return "a Loop runs when its iterations can be counted before the run: its trip count is a "
           "constant "
           "or an input, and its condition stays true";
  }
  if (*iterations == 0)
    return "it has no iteration, and an output that iterations stack has no known type";
  return absl::StrCat("its ", *iterations, " iterations are too many: of the ",
                      CopyBudget::kMostNodes, " nodes that copies of bodies may add ",
                      budget.nodes(), " are left, one iteration adds ", BodyOf(loop).node_count());
}

}  // namespace onnx_cudnn

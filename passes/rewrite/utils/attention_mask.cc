#include "passes/rewrite/utils/attention_mask.h"

#include <algorithm>
#include <cmath>

#include "absl/functional/function_ref.h"
#include "passes/rewrite/utils/attention_operands.h"
#include "passes/rewrite/utils/float_constants.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// Whether `holds` for every element and its position. Copies none, since masks may be large.
bool AllHold(const HostTensor& tensor, absl::FunctionRef<bool(int64_t, double)> holds) {
  if (!kFloatTypes.Has(tensor.dtype())) return false;
  return VisitElementType(tensor.dtype(), [&](auto element) {
    const auto numbers = tensor.data<decltype(element)>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!holds(static_cast<int64_t>(i), Widen<double>(numbers[i]))) return false;
    }
    return true;
  });
}

bool IsNumber(const Value& value) {
  return value.is_constant() && value.elements() == 1 && kFloatTypes.Has(value.dtype());
}

bool IsFinite(const Value& value) {
  return IsNumber(value) && std::isfinite(ToDoubles(value.constant())[0]);
}

bool IsSame(const Value* a, const Value* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || !a->is_constant() || !b->is_constant()) return false;
  return SameContent(a->constant(), b->constant());
}

// `number`, or kExcludes if that is more, as a constant of the mask's type. Infinity stays.
Value& Bounded(Graph& graph, const Value& mask, Value& number) {
  const double found = ToDoubles(number.constant())[0];
  if (!std::isfinite(found) || found >= kExcludes) return number;
  return graph.AddConstant(*FromDoubles(mask.dtype(), {}, {kExcludes}), "excludes");
}

// Where(condition, a, b) with both numbers bounded, if the mask is that or, with a = c and b = 0,
// the product of c and a condition that is cast. nullptr: it is computed otherwise.
Value* BoundedChoice(Graph& graph, const Value& mask) {
  const Node* node = mask.producer();
  Value *condition = nullptr, *if_true = nullptr, *if_false = nullptr;
  if (IsOp(node, {"Where"}) && IsNumber(node->input(1)) && IsNumber(node->input(2))) {
    condition = node->inputs()[0], if_true = node->inputs()[1], if_false = node->inputs()[2];
  } else if (IsOp(node, {"Mul"})) {
    for (const int side : {0, 1}) {
      const Node* cast = node->input(side).producer();
      const bool is_condition = IsOp(cast, {"Cast"}) && cast->input(0).dtype() == DType::kBool;
      if (!is_condition || !IsFinite(node->input(1 - side))) continue;
      condition = cast->inputs()[0], if_true = node->inputs()[1 - side];
      if_false = &graph.AddConstant(*FromDoubles(mask.dtype(), {}, {0}), "zero");
    }
  }
  if (condition == nullptr) return nullptr;
  return &ComputedOnce(
      graph, "Where",
      {condition, &Bounded(graph, mask, *if_true), &Bounded(graph, mask, *if_false)}, mask.type());
}

// Whether it is 0, 1, … along the last axis, below `count`.
bool CountsTo(const Value& value, int64_t count) {
  if (!value.is_constant() || value.dtype() != DType::kI64 || value.rank() == 0) return false;
  if (value.elements() != count || value.dim(value.rank() - 1) != count) return false;
  const auto numbers = value.constant().data<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (numbers[i] != i) return false;
  }
  return true;
}

Value& InF32(Graph& graph, Value& value) {
  if (value.dtype() == DType::kF32) return value;
  Node& cast = graph.AddNode(
      {.op = "Cast", .inputs = {&value}, .attrs = {{"to", static_cast<int64_t>(DType::kF32)}}});
  graph.SetType(cast.output(0), Type::Tensor(DType::kF32, value.dims()));
  return cast.output(0);
}

Value& InShape(Graph& graph, std::string_view op, Value& value, int64_t count) {
  if (value.is_static() && value.dims() == Dims{count}) return value;
  Value& shape = graph.AddConstant(HostTensor::Ints({count}), "shape");
  return ComputedOnce(graph, op, {&value, &shape}, Type::Tensor(value.dtype(), {count}));
}

}  // namespace

bool IsCausalMask(const HostTensor& constant, const Dims& scores) {
  const Dims dims = constant.dims();
  const int64_t n = scores.back();
  if (scores.size() < 2 || scores[scores.size() - 2] != n || n < 2) return false;
  if (dims.size() < 2 || dims.back() != n || dims[dims.size() - 2] != n) return false;
  return AllHold(constant, [n](int64_t at, double number) {
    const int64_t key = at % n, query = at / n % n;
    return key > query ? number <= kExcludes : number == 0;
  });
}

bool AddsNothing(const HostTensor& constant) {
  return AllHold(constant, [](int64_t, double number) { return number == 0; });
}

Value* LengthsOf(Graph& graph, Value& condition, const Dims& scores) {
  const int64_t batch = scores[0], keys = scores[3];
  const Node* comparison = BeforeReshapes(condition).producer();
  const bool is_less = IsOp(comparison, {"Less", "LessOrEqual"});
  if (scores[2] != 1 || (!is_less && !IsOp(comparison, {"Greater", "GreaterOrEqual"}))) {
    return nullptr;
  }
  Value &positions = comparison->input(is_less ? 0 : 1),
        &bound = comparison->input(is_less ? 1 : 0);
  if (!CountsTo(positions, keys) || !bound.is_static() || bound.dtype() != DType::kI64) {
    return nullptr;
  }
  if (bound.rank() > 0 && bound.dim(bound.rank() - 1) != 1) return nullptr;
  const int64_t bounds = bound.elements();
  Dims expected = condition.dims();  // one bound for all, or one for each batch
  std::fill(expected.begin(), expected.end(), 1);
  if (expected.empty()) return nullptr;
  expected.back() = keys;
  if (bounds != 1) {
    if (bounds != batch || expected.size() != scores.size()) return nullptr;
    expected[0] = batch;
  }
  if (condition.dims() != expected) return nullptr;
  Value* lengths = &InShape(graph, "Reshape", bound, bounds);
  if (comparison->op().ends_with("OrEqual")) {
    Value& one = graph.AddConstant(HostTensor::Ints({1}), "one");
    lengths = &ComputedOnce(graph, "Add", {lengths, &one}, lengths->type());
  }
  return &InShape(graph, "Expand", *lengths, batch);
}

Value& ComputedOnce(Graph& graph, std::string_view op, std::vector<Value*> inputs, Type type) {
  for (const Use& use : inputs[0]->uses()) {
    const Node& node = *use.node;
    const bool is_same = IsOp(&node, {op}) && node.attrs().empty() &&
                         std::ranges::equal(node.inputs(), inputs, IsSame);
    if (is_same) return *node.outputs()[0];
  }
  Node& node = graph.AddNode({.op = std::string(op), .inputs = std::move(inputs)});
  graph.SetType(node.output(0), std::move(type));
  return node.output(0);
}

Value& SumOfMasks(Graph& graph, Value& first, Value& second) {
  const bool differ = first.dtype() != second.dtype();
  Value &a = differ ? InF32(graph, first) : first, &b = differ ? InF32(graph, second) : second;
  const bool is_longer = a.rank() >= b.rank();
  Dims dims = is_longer ? a.dims() : b.dims();
  const Dims other = is_longer ? b.dims() : a.dims();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& dim = dims[dims.size() - other.size() + i];
    dim = dim == 1 ? other[i] : dim;
  }
  Node& add = graph.AddNode({.op = "Add", .inputs = {&a, &b}});
  graph.SetType(add.output(0), Type::Tensor(a.dtype(), dims));
  return add.output(0);
}

Value& SafeMask(Graph& graph, Value& mask) {
  if (IsSafeMask(mask)) return mask;
  if (Value* choice = BoundedChoice(graph, mask); choice != nullptr) return *choice;
  const DType dtype = mask.dtype();
  Value& least = graph.AddConstant(*FromDoubles(dtype, {}, {kExcludes}), "least");
  Value& is_infinite =
      ComputedOnce(graph, "IsInf", {&mask}, Type::Tensor(DType::kBool, mask.dims()));
  Value& bounded = ComputedOnce(graph, "Max", {&mask, &least}, mask.type());
  return ComputedOnce(graph, "Where", {&is_infinite, &mask, &bounded}, mask.type());
}

}  // namespace onnx_cudnn

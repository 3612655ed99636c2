#include "passes/rewrite/utils/attention_operands.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "passes/rewrite/utils/float_constants.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/permutation.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

constexpr int kBatch = 0, kHeads = 1, kRows = 2, kColumns = 3;

Value& Reshaped(Graph& graph, Value& value, const Dims& dims) {
  if (value.dims() == dims) return value;
  Value& shape = graph.AddConstant(HostTensor::Ints(Ints(dims.begin(), dims.end())), "shape");
  Node& reshape = graph.AddNode({.op = "Reshape", .inputs = {&value, &shape}});
  graph.SetType(reshape.output(0), Type::Tensor(value.dtype(), dims));
  return reshape.output(0);
}

Value& Transposed(Graph& graph, Value& value, const Ints& perm) {
  if (IsIdentityPerm(perm)) return value;
  Dims dims;
  for (const int64_t axis : perm) dims.push_back(value.dim(static_cast<int>(axis)));
  Node& transpose =
      graph.AddNode({.op = "Transpose", .inputs = {&value}, .attrs = {{"perm", perm}}});
  graph.SetType(transpose.output(0), Type::Tensor(value.dtype(), dims));
  return transpose.output(0);
}

// The perm that follows if the last two axes of the result are exchanged too.
Ints WithRows(Ints perm) {
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return perm;
}

// The input of Transpose(0, 2, 1) of a stack of matrices, one per batch and head, that becomes
// `columns` by a Reshape; nullptr: it is something else.
Value* StackOfRows(const Value& columns) {
  const Node* reshape = columns.producer();
  if (!IsOp(reshape, {"Reshape"})) return nullptr;
  const Node* transpose = reshape->input(0).producer();
  if (!IsOp(transpose, {"Transpose"}) || PermOf(*transpose) != Ints{0, 2, 1}) return nullptr;
  const Dims dims = columns.dims();
  if (dims.size() != 4) return nullptr;
  const Dims stack = {dims[kBatch] * dims[kHeads], dims[kColumns], dims[kRows]};
  if (!transpose->input(0).is_static()) return nullptr;
  return transpose->input(0).dims() == stack ? &transpose->input(0) : nullptr;
}

}  // namespace

Value& BeforeReshapes(Value& value) {
  Value* at = &value;
  for (const Node* node = at->producer();
       node != nullptr && TraitsOf(*node).keeps_bytes && node->input(0).is_static();
       node = at->producer()) {
    at = &at->producer()->input(0);
  }
  return *at;
}

int ScaledInputOf(const Node* node) {
  if (!IsOp(node, {"Mul", "Div"})) return -1;
  for (const int input : {0, 1}) {
    const Value& factor = node->input(1 - input);
    if (!factor.is_constant() || factor.elements() != 1) continue;
    if (input == 1 && node->op() == "Div") continue;
    const Value& scaled = node->input(input);
    return scaled.is_static() && scaled.rank() == node->output(0).rank() ? input : -1;
  }
  return -1;
}

Unscaled WithoutFactors(Value& value) {
  Unscaled found{&value};
  for (Node* node = value.producer(); ScaledInputOf(node) >= 0; node = found.value->producer()) {
    const int input = ScaledInputOf(node);
    const double factor = ToDoubles(node->input(1 - input).constant())[0];
    found.factor *= node->op() == "Div" ? 1 / factor : factor;
    found.value = &node->input(input);
  }
  return found;
}

int ScaledByHeadOf(const Node* node) {
  if (!IsOp(node, {"Mul"})) return -1;
  for (const int input : {0, 1}) {
    const Value &scales = node->input(1 - input), &scaled = node->input(input);
    const int rank = scales.is_constant() ? scales.rank() : 0;
    if (rank < 3 || !kFloatTypes.Has(scales.dtype()) || !scaled.is_static()) continue;
    const bool is_by_head = scales.dim(rank - 1) == 1 && scales.dim(rank - 2) == 1;
    if (is_by_head && scaled.rank() == 4 && rank <= 4) return input;
  }
  return -1;
}

Unscaled WithScales(Graph& graph, Value& q, const HostTensor& scales) {
  std::vector<double> numbers = ToDoubles(scales);
  const double largest = *std::ranges::max_element(numbers);
  for (double& number : numbers) number /= largest;
  std::optional<HostTensor> tensor = FromDoubles(q.dtype(), scales.dims(), numbers);
  if (!(largest > 0) || !tensor.has_value()) return {&q, largest};
  Value& factors = graph.AddConstant(*std::move(tensor), "scales");
  Node& mul = graph.AddNode({.op = "Mul", .inputs = {&q, &factors}});
  graph.SetType(mul.output(0), q.type());
  return {&mul.output(0), largest};
}

Unscaled RowsOf(Graph& graph, Value& columns) {
  const Unscaled scaled = WithoutFactors(columns);
  Value* rows = nullptr;
  if (const Node* transpose = scaled.value->producer();
      IsOp(transpose, {"Transpose"}) && transpose->input(0).is_static()) {
    rows = &Transposed(graph, transpose->input(0), WithRows(*PermOf(*transpose)));
  } else if (Value* stack = StackOfRows(*scaled.value)) {
    const Dims dims = columns.dims();
    const Dims whole = {dims[kBatch], dims[kHeads], dims[kColumns], dims[kRows]};
    Value& before = BeforeReshapes(*stack);
    rows = &Reshaped(graph, before.dims() == whole ? before : *stack, whole);
  } else {
    Ints axes(scaled.value->rank());
    std::iota(axes.begin(), axes.end(), 0);
    rows = &Transposed(graph, *scaled.value, WithRows(std::move(axes)));
  }
  const Unscaled inner = WithoutFactors(*rows);
  return {inner.value, scaled.factor * inner.factor};
}

bool SplitsBatch(const Dims& from, const Dims& to) {
  const Dims &four = from.size() < to.size() ? from : to,
             &five = from.size() < to.size() ? to : from;
  if (four.size() < 3 || four.size() > 4 || five.size() != four.size() + 1) return false;
  return four[0] == five[0] * five[1] && std::equal(four.begin() + 1, four.end(), five.begin() + 2);
}

Value& WithSplitBatch(Graph& graph, Value& addend, const Dims& scores) {
  const Dims dims = addend.dims();
  if (dims.size() < 4 || dims[0] == 1) return addend;  // the same for each of the batch
  return Reshaped(graph, addend, {scores[0], scores[1], dims[1], dims[2], dims[3]});
}

Value& WithOneBatch(Graph& graph, Value& addend, const Dims& scores) {
  Dims dims = addend.dims();
  if (dims.size() < scores.size() - 1) return addend;  // the same for each of the batch
  dims.insert(dims.begin(), scores.size() - dims.size(), 1);
  Value* whole = &addend;
  const bool varies = dims[0] != 1 || dims[1] != 1;
  if (varies && (dims[0] != scores[0] || dims[1] != scores[1])) {
    const Ints shape = {scores[0], scores[1], dims[2], dims[3], dims[4]};
    dims = Dims(shape.begin(), shape.end());
    Value& operand = graph.AddConstant(HostTensor::Ints(shape), "shape");
    Node& expand = graph.AddNode({.op = "Expand", .inputs = {&addend, &operand}});
    graph.SetType(expand.output(0), Type::Tensor(addend.dtype(), dims));
    whole = &expand.output(0);
  }
  return Reshaped(graph, *whole, {dims[0] * dims[1], dims[2], dims[3], dims[4]});
}

Dims ScoresOfHeads(const Value& scores, Value& q) {
  const Dims dims = scores.dims();
  if (dims.size() == 5) return {dims[0], dims[1] * dims[2], dims[3], dims[4]};
  if (dims.size() == 4) return dims;
  const Dims before = BeforeReshapes(q).dims();
  const bool has_heads = before.size() == 4 && SplitsBatch(q.dims(), before);
  return {has_heads ? before[0] : 1, has_heads ? before[1] : dims[0], dims[1], dims[2]};
}

Value& WithHeads(Graph& graph, Value& value, const Dims& scores) {
  const Dims dims = value.dims();
  if (dims.size() == 4) return value;
  const Dims whole = dims.size() == 3 ? Dims{scores[0], scores[1], dims[1], dims[2]}
                                      : Dims{dims[0], dims[1] * dims[2], dims[3], dims[4]};
  Value& before = BeforeReshapes(value);
  return Reshaped(graph, before.dims() == whole ? before : value, whole);
}

Value* AddendOfHeads(Graph& graph, Value& addend, const Dims& from, const Dims& scores) {
  Dims dims = addend.dims();
  if (from.size() == 4 || dims.size() < 3) return &addend;
  dims.insert(dims.begin(), from.size() - dims.size(), 1);
  if (from.size() == 3) {
    if (dims[0] == 1) return &addend;
    return &Reshaped(graph, addend, {scores[0], scores[1], dims[1], dims[2]});
  }
  const bool is_shared = dims[1] == 1 && dims[2] == 1;
  if (!is_shared && (dims[1] != from[1] || dims[2] != from[2])) return nullptr;
  return &Reshaped(graph, addend, {dims[0], dims[1] * dims[2], dims[3], dims[4]});
}

Value& WithoutRepeats(Graph& graph, Value& value) {
  const Node* expand = BeforeReshapes(value).producer();
  if (!IsOp(expand, {"Expand"}) || !expand->input(0).is_static()) return value;
  const Dims from = expand->input(0).dims(), to = expand->output(0).dims(), dims = value.dims();
  if (from.size() != 5 || to.size() != 5 || from[2] != 1) return value;
  const Dims repeated = {from[0], from[1], to[2], from[3], from[4]};
  const Dims whole = {from[0], from[1] * to[2], from[3], from[4]};
  if (to != repeated || dims != whole) return value;
  Value& before = BeforeReshapes(expand->input(0));
  const Dims heads = {from[0], from[1], from[3], from[4]};
  return Reshaped(graph, before.dims() == heads ? before : expand->input(0), heads);
}

}  // namespace onnx_cudnn

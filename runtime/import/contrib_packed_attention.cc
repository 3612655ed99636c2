// Attentions of com.microsoft over sequences without padding, one behind the other.
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/import/contrib_heads.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

// Heads of queries, keys and values of all tokens, [1, heads, tokens, channels].
using Operands = std::array<Value*, 3>;

// Whether two tokens are of one sequence: bool[tokens, tokens]. `ends` are the numbers of tokens
// before each sequence, and that of all.
Value& AreOfOneSequence(Expansion& x, Value& tokens, Value& ends) {
  Value& positions = x.Unsqueeze(x.CountTo(x.ExtentOf(tokens, 0)), {1});
  Value& begun = x.Op("GreaterOrEqual", {&positions, &x.Cast(ends, DType::kI64)});
  Value& sequence = x.Op("ReduceSum", {&x.Cast(begun, DType::kI64), &x.Integers({1})});
  return x.Op("Equal", {&sequence, &x.Transpose(sequence, {1, 0})});
}

// Attends within each sequence. Input `offsets` says where tokens were in a padded batch, which
// does not matter without a bias, and the next one holds the ends of sequences.
void GivePacked(Expansion& x, const Operands& heads, int offsets) {
  x.in(offsets);
  Value& same = AreOfOneSequence(x, x.in(0), x.in(offsets + 1));
  if (!x.ok()) return;
  const auto [q, k, v] = heads;
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  Value& scores = ScoresOf(x, *q, *k, ScaleOf(x, x.Extent(*q, 3)));
  Value& seen = x.Op("Where", {&same, &scores, &x.Number(kUnseen, DType::kF32)});
  Value& probabilities = x.Op("Softmax", {&seen}, {{"axis", int64_t{-1}}});
  Value& y = x.MatMul(x.Cast(probabilities, v->dtype()), *v);
  const int64_t hidden = x.Extent(*v, 1) * x.Extent(*v, 3);
  x.Result(0, "Reshape", {&x.Transpose(y, {0, 2, 1, 3}), &x.Integers({-1, hidden})});
}

// [tokens, heads · channels] as heads.
Value& HeadsOfTokens(Expansion& x, Value& v, int64_t heads) {
  return HeadsOf(x, x.Unsqueeze(v, {0}), heads);
}

// Of [tokens, heads, 3, channels], queries, keys and values.
Value& PackedHeads(Expansion& x, Value& packed, int i) {
  Value& part = x.Op("Gather", {&packed, &x.Number(i, DType::kI64)}, {{"axis", int64_t{2}}});
  return x.Unsqueeze(x.Transpose(part, {1, 0, 2}), {0});
}

Operands SplitHeads(Expansion& x, Value& v, std::vector<int64_t> sizes, int64_t heads) {
  const std::vector<Value*> parts = x.Split(v, -1, std::move(sizes));
  Operands operands;
  for (int i = 0; i < 3; ++i) operands[i] = &HeadsOfTokens(x, *parts[i], heads);
  return operands;
}

}  // namespace

void ExpandPackedAttention(Expansion& x) {
  const int64_t heads = x.RequiredInt("num_heads");
  Value& weights = x.in(1);
  std::vector<int64_t> sizes = x.Ints("qkv_hidden_sizes");
  const int64_t columns = x.Extent(weights, 1);
  if (sizes.empty()) sizes.assign(3, columns / 3);
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != columns) {
    x.FailInvalid(absl::StrCat("weights have ", columns, " columns"));
  }
  if (!x.ok()) return;
  Value& projected = x.Add(x.MatMul(x.in(0), weights), x.in(2));
  GivePacked(x, SplitHeads(x, projected, std::move(sizes), heads), /*offsets=*/3);
}

void ExpandPackedMultiHeadAttention(Expansion& x) {
  const int64_t heads = x.RequiredInt("num_heads");
  x.Ignore("mask_filter_value");  // of padding, which there is not
  Value& query = x.in(0);
  const int rank = x.Rank(query);
  if (rank != 2 && rank != 4) {
    x.FailInvalid(absl::StrCat(ToString(query.type()), ", expected rank 2 or 4"));
  }
  if (rank == 4 && x.Has(3)) x.Refuse("a bias of packed queries is not implemented");
  if (!x.ok()) return;
  if (rank == 4) {
    const Operands operands = {&PackedHeads(x, query, 0), &PackedHeads(x, query, 1),
                               &PackedHeads(x, query, 2)};
    return GivePacked(x, operands, /*offsets=*/4);
  }
  const std::vector<int64_t> sizes = {x.Extent(query, 1), x.Extent(x.in(1), 1),
                                      x.Extent(x.in(2), 1)};
  std::vector<Value*> bias;
  if (Value* all = x.Optional(3)) bias = x.Split(*all, 0, sizes);
  Operands operands;
  for (int i = 0; i < 3; ++i) {
    Value& v = bias.empty() ? x.in(i) : x.Add(x.in(i), *bias[i]);
    operands[i] = &HeadsOfTokens(x, v, heads);
  }
  GivePacked(x, operands, /*offsets=*/4);
}

}  // namespace onnx_cudnn

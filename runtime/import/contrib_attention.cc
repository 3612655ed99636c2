// Attentions of com.microsoft whose queries have as many heads as keys.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/import/contrib_heads.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

constexpr float kMasked = -10000;
constexpr DTypeSet kAttentionTypes = {DType::kF32, DType::kF16, DType::kBF16};

// Heads of queries, keys and values.
struct Heads {
  Value *q, *k, *v;
};

// With the past before keys and values.
void PutPastBefore(Expansion& x, Heads& heads, Value& past_k, Value& past_v) {
  heads.k = &x.Concat({&past_k, heads.k}, 2);
  heads.v = &x.Concat({&past_v, heads.v}, 2);
}

// Gives output 0, and the scores with masks as output `scores_output` unless it is negative.
void GiveAttention(Expansion& x, const Heads& heads, Value* mask, Value* bias,
                   int scores_output = -1) {
  const MaskParts parts = {.q = heads.q,
                           .k = heads.k,
                           .mask = mask,
                           .bias = bias,
                           .causal = x.Flag("unidirectional"),
                           .masked = x.Float("mask_filter_value", kMasked)};
  if (!kAttentionTypes.Has(heads.q->dtype())) x.Refuse("the type is not implemented");
  const double scale = ScaleOf(x, x.Extent(*heads.q, 3));
  Value* scores = &ScoresOf(x, *heads.q, *heads.k, scale);
  if (Value* added = AddedToScores(x, parts)) scores = &x.Add(*scores, *added);
  if (scores_output >= 0 && heads.q->dtype() == DType::kF32) x.Give(scores_output, *scores);
  GiveAttended(x, x.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}), *heads.v,
               x.Extent(*heads.q, 1) * x.Extent(*heads.v, 3));
}

// Self-attention over `projected`, [batch, length, q and k and v]: the rest of Attention and
// QAttention.
void AttendToItself(Expansion& x, Value& projected, std::vector<int64_t> sizes, Value* mask,
                    Value* past, Value* bias) {
  const int64_t num_heads = x.RequiredInt("num_heads");
  x.Only("do_rotary", 0);
  x.Only("past_present_share_buffer", 0);
  const std::vector<Value*> parts = x.Split(projected, -1, std::move(sizes));
  Heads heads = {&HeadsOf(x, *parts[0], num_heads), &HeadsOf(x, *parts[1], num_heads),
                 &HeadsOf(x, *parts[2], num_heads)};
  if (past != nullptr) {
    const auto state = [&](double i) -> Value& {
      return x.Op("Gather", {past, &x.Number(i, DType::kI64)}, {{"axis", int64_t{0}}});
    };
    PutPastBefore(x, heads, state(0), state(1));
  }
  if (x.Wants(1))
    x.Give(1, x.Concat({&x.Unsqueeze(*heads.k, {0}), &x.Unsqueeze(*heads.v, {0})}, 0));
  GiveAttention(x, heads, mask, bias);
}

std::vector<int64_t> Thirds(Expansion& x, const Value& weights) {
  const int64_t columns = x.Extent(weights, -1);
  if (columns % 3 != 0) x.FailInvalid(absl::StrCat("weights have ", columns, " columns"));
  return std::vector<int64_t>(3, columns / 3);
}

// One of `count` tensors that are packed along axis 3 of [batch, length, heads, count, channels].
Value& Unpacked(Expansion& x, Value& packed, int i) {
  Value& part = x.Op("Gather", {&packed, &x.Number(i, DType::kI64)}, {{"axis", int64_t{3}}});
  return x.Transpose(part, {0, 2, 1, 3});
}

// The parts of a MultiHeadAttention's bias; nullptr: there is none.
std::array<Value*, 3> BiasParts(Expansion& x, const Value& query) {
  Value* bias = x.Optional(3);
  if (bias == nullptr) return {};
  const int64_t hidden = x.Extent(query, -1), all = x.Extent(*bias, 0);
  if (all < 2 * hidden) {
    x.FailInvalid(absl::StrCat("bias is ", ToString(bias->type()), " for ", hidden, " channels"));
    return {};
  }
  const std::vector<Value*> parts = x.Split(*bias, 0, {hidden, hidden, all - 2 * hidden});
  return {parts[0], parts[1], parts[2]};
}

// Heads of a MultiHeadAttention's operand, with bias.
Value& BiasedHeads(Expansion& x, Value& v, Value* bias, int64_t heads) {
  return HeadsOf(x, bias == nullptr ? v : x.Add(v, *bias), heads);
}

// Of q, k and v; of packed ones; or of q and of keys and values that are heads already.
Heads HeadsOfMulti(Expansion& x, int64_t num_heads) {
  Value& query = x.in(0);
  const int rank = x.Rank(query);
  if (rank == 5) {
    return {&Unpacked(x, query, 0), &Unpacked(x, query, 1), &Unpacked(x, query, 2)};
  }
  Value& key = x.in(1);
  const int key_rank = x.Rank(key);
  if (key_rank == 5) {
    return {&HeadsOf(x, query, num_heads), &Unpacked(x, key, 0), &Unpacked(x, key, 1)};
  }
  const std::array<Value*, 3> bias = BiasParts(x, query);
  Value& q = BiasedHeads(x, query, bias[0], num_heads);
  Value& value = x.in(2);
  if (key_rank == 4) return {&q, &key, &value};  // computed before, with their bias
  return {&q, &BiasedHeads(x, key, bias[1], num_heads), &BiasedHeads(x, value, bias[2], num_heads)};
}

}  // namespace

void ExpandAttention(Expansion& x) {
  Value& weights = x.in(1);
  Value* projected = &x.MatMul(x.in(0), weights);
  if (Value* bias = x.Optional(2)) projected = &x.Add(*projected, *bias);
  std::vector<int64_t> sizes = x.Ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes = Thirds(x, weights);
  if (sizes.size() != 3 || *std::min_element(sizes.begin(), sizes.end()) < 1) {
    return x.FailInvalid("attribute \"qkv_hidden_sizes\" does not hold 3 sizes");
  }
  x.Ignore("rotary_embedding_dim");  // has no meaning without do_rotary
  AttendToItself(x, *projected, std::move(sizes), x.Optional(3), x.Optional(4), x.Optional(5));
}

void ExpandQAttention(Expansion& x) {
  Value& weights = x.in(1);
  Value& product = Multiplied(x, {.a = &x.in(0),
                                  .b = &weights,
                                  .a_zero = x.Optional(6),
                                  .b_zero = x.Optional(7),
                                  .a_scale = &x.in(3),
                                  .b_scale = &x.in(4)});
  Value& bias = x.in(2);
  Value& projected = x.Add(x.Cast(product, bias.dtype()), bias);
  AttendToItself(x, projected, Thirds(x, weights), x.Optional(5), x.Optional(8), nullptr);
}

void ExpandMultiHeadAttention(Expansion& x) {
  const int64_t num_heads = x.RequiredInt("num_heads");
  Heads heads = HeadsOfMulti(x, num_heads);
  if (!x.ok()) return;
  // The op's text leaves the mask open where there are more or fewer keys than queries.
  const Dim *queries = Expansion::DimOf(*heads.q, 2), *keys = Expansion::DimOf(*heads.k, 2);
  if (x.Flag("unidirectional") && queries->value >= 0 && keys->value >= 0 && !(*queries == *keys)) {
    x.Refuse(absl::StrCat("attribute \"unidirectional\" for ", queries->value, " queries and ",
                          keys->value, " keys is not implemented"));
  }
  if (Value* past = x.Optional(6)) PutPastBefore(x, heads, *past, x.in(7));
  x.Give(1, *heads.k);
  x.Give(2, *heads.v);
  GiveAttention(x, heads, x.Optional(4), x.Optional(5), 3);
}

}  // namespace onnx_cudnn

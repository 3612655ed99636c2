// GroupQueryAttention: groups of queries share keys and values, which are kept in a cache.
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/import/contrib_heads.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

struct GroupQuery {
  int64_t heads, kv_heads, channels;  // channels of a head
  Value *q, *k, *v;                   // heads
  Value *last, *past;                 // i64[batch]: position of the last key; keys before k
  Value* own;                         // i64[batch, queries]: positions of queries
};

Value& Part(Expansion& x, Value& packed, int64_t begin, int64_t end, int64_t channels) {
  return x.Slice(packed, 2, begin * channels, end * channels);
}

// Heads of the three operands, which may be packed in one.
void ReadOperands(Expansion& x, GroupQuery& g) {
  g.heads = x.RequiredInt("num_heads");
  g.kv_heads = x.RequiredInt("kv_num_heads");
  Value& query = x.in(0);
  const bool is_packed = !x.Has(1);
  const int64_t slots = is_packed ? g.heads + 2 * g.kv_heads : g.heads;
  const int64_t hidden = x.Extent(query, 2);
  if (g.heads < 1 || g.kv_heads < 1 || g.heads % g.kv_heads != 0 || hidden % slots != 0) {
    x.FailInvalid(absl::StrCat(hidden, " channels for ", g.heads, " heads of queries and ",
                               g.kv_heads, " heads of keys"));
  }
  if (!x.ok()) return;
  g.channels = hidden / slots;
  const int64_t k_begin = g.heads, v_begin = g.heads + g.kv_heads;
  Value& q = is_packed ? Part(x, query, 0, k_begin, g.channels) : query;
  Value& k = is_packed ? Part(x, query, k_begin, v_begin, g.channels) : x.in(1);
  Value& v = is_packed ? Part(x, query, v_begin, slots, g.channels) : x.in(2);
  g.q = &HeadsOf(x, q, g.heads);
  g.k = &HeadsOf(x, k, g.kv_heads);
  g.v = &HeadsOf(x, v, g.kv_heads);
}

void ReadPositions(Expansion& x, GroupQuery& g) {
  g.last = &x.Cast(x.Reshape(x.in(5), {-1}), DType::kI64);
  Value& length = x.ExtentOf(*g.q, 2);
  Value& before = x.Sub(x.Add(*g.last, x.Number(1, DType::kI64)), length);
  // Queries that pad a prompt lie behind the last key.
  g.past = &x.Op("Max", {&before, &x.Number(0, DType::kI64)});
  g.own = &x.Add(x.Unsqueeze(*g.past, {1}), x.CountTo(length));
}

void Rotate(Expansion& x, GroupQuery& g) {
  const bool interleaved = x.Flag("rotary_interleaved");
  const bool rotates = x.Flag("do_rotary");
  Value *cosines = x.Optional(7), *sines = x.Optional(8), *given = x.Optional(9);
  if (!rotates) return;
  if (cosines == nullptr || sines == nullptr) {
    return x.FailInvalid("do_rotary without cos_cache and sin_cache");
  }
  Value& positions = given == nullptr ? *g.own : *given;
  const auto angles = [&](Value& cache) -> Value& {
    return x.Unsqueeze(x.Op("Gather", {&cache, &positions}), {1});
  };
  const Rotation rotation = {&angles(*cosines), &angles(*sines), x.Extent(*cosines, 1),
                             interleaved};
  g.q = &Rotated(x, *g.q, rotation);
  g.k = &Rotated(x, *g.k, rotation);
}

// The cache with `update` behind the past of each batch. A cache that is too short grows by `more`
// elements.
Value& Updated(Expansion& x, Value& cache, Value& update, Value& more, const GroupQuery& g) {
  Value& pads = x.Concat({&x.Integers({0}), &more}, 0);
  Value& grown = x.Op("Pad", {&cache, &pads, nullptr, &x.Integers({2})});
  return x.Op("TensorScatter", {&grown, &update, g.past}, {{"axis", int64_t{2}}});
}

// Puts keys and values into the cache. Returns how many more elements it has than there are keys,
// i64[1]; nullptr: none.
Value* UpdateCache(Expansion& x, GroupQuery& g) {
  Value& total = x.Cast(x.Reshape(x.Scalar(x.in(6)), {1}), DType::kI64);
  Value *past_k = x.Optional(3), *past_v = x.Optional(4);
  if ((past_k == nullptr) != (past_v == nullptr)) x.FailInvalid("past_key without past_value");
  Value* rest = nullptr;
  if (past_k != nullptr && x.ok()) {
    if (past_k->dtype() != g.k->dtype()) x.Refuse("a past of another type is not implemented");
    Value& held = x.ExtentOf(*past_k, 2);
    Value& extent = x.Op("Max", {&total, &held});
    Value& more = x.Sub(extent, held);
    rest = &x.Sub(extent, total);
    g.k = &Updated(x, *past_k, *g.k, more, g);
    g.v = &Updated(x, *past_v, *g.v, more, g);
  }
  x.Give(1, *g.k);
  x.Give(2, *g.v);
  return rest;
}

Value& ForEachQuery(Expansion& x, Value& v, const GroupQuery& g) {
  if (g.heads == g.kv_heads) return v;
  Value& shape = x.Integers({1, 1, g.heads / g.kv_heads, 1, 1});
  return x.Reshape(x.Op("Expand", {&x.Unsqueeze(v, {2}), &shape}), {0, g.heads, -1, g.channels});
}

// Whether a query sees a key: bool[batch, 1, queries, keys].
Value& Sees(Expansion& x, const GroupQuery& g) {
  const bool is_causal = x.Flag("causal", true);
  const int64_t window = x.Int("local_window_size", -1);
  Value& keys = x.CountTo(x.ExtentOf(*g.k, 2));
  Value& own = x.Unsqueeze(*g.own, {2});
  Value& last = is_causal ? own : x.Unsqueeze(*g.last, {1, 2});
  Value* sees = &x.Op("LessOrEqual", {&keys, &last});
  if (window > 0) {
    Value& first = x.Sub(own, x.Number(static_cast<double>(window), DType::kI64));
    sees = &x.Op("And", {sees, &x.Op("Greater", {&keys, &first})});
    if (!is_causal) x.FailInvalid("local_window_size without causal");
  }
  return x.Unsqueeze(*sees, {1});
}

// Softmax with one more term in each sum: a score by head, or 0.
Value& SoftmaxWithSink(Expansion& x, Value& scores, Value* sink, const GroupQuery& g) {
  const Attrs last_axis = {{"axis", int64_t{-1}}};
  const bool is_smooth = x.Int("smooth_softmax", -1) == 1;
  if (sink == nullptr && !is_smooth) return x.Op("Softmax", {&scores}, last_axis);
  Value& by_head = sink == nullptr ? x.Number(0, DType::kF32)
                                   : x.Cast(x.Reshape(*sink, {1, g.heads, 1, 1}), DType::kF32);
  Value& rows = x.Op("Shape", {&scores}, {{"start", int64_t{0}}, {"end", int64_t{3}}});
  Value& column = x.Op("Expand", {&by_head, &x.Concat({&rows, &x.Integers({1})}, 0)});
  Value& all = x.Op("Softmax", {&x.Concat({&scores, &column}, 3)}, last_axis);
  return x.Slice(all, 3, 0, -1);
}

void RefuseOtherCaches(Expansion& x) {
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (x.String(name, "NONE") != "NONE") x.Refuse("a quantized cache is not implemented");
  }
  x.Ignore("kv_cache_bit_width");  // of a quantized cache
  x.Ignore("qk_norm_epsilon");     // of inputs 14 and 15, which are not taken
  x.Only("sliding_window_cache", 0);
  x.Only("qk_output", 0);
}

}  // namespace

void ExpandGroupQueryAttention(Expansion& x) {
  RefuseOtherCaches(x);
  GroupQuery g = {};
  ReadOperands(x, g);
  if (!x.ok()) return;
  ReadPositions(x, g);
  Rotate(x, g);
  Value* rest = UpdateCache(x, g);
  const double scale = ScaleOf(x, g.channels);
  Value* scores = &ScoresOf(x, *g.q, ForEachQuery(x, *g.k, g), scale);
  if (const float cap = x.Float("softcap", 0); cap != 0) {
    scores = &x.Scaled(x.Op("Tanh", {&x.Scaled(*scores, 1 / cap)}), cap);
  }
  if (Value* bias = x.Optional(10)) {
    Value* added = &x.Cast(*bias, DType::kF32);
    if (rest != nullptr) {
      Value& pads = x.Concat({&x.Integers({0}), rest}, 0);
      added = &x.Op("Pad", {added, &pads, nullptr, &x.Integers({3})});
    }
    scores = &x.Add(*scores, *added);
  }
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  Value& seen = x.Op("Where", {&Sees(x, g), scores, &x.Number(kUnseen, DType::kF32)});
  GiveAttended(x, SoftmaxWithSink(x, seen, x.Optional(11), g), ForEachQuery(x, *g.v, g),
               g.heads * g.channels);
}

}  // namespace onnx_cudnn

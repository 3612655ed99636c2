// PagedAttention: tokens of sequences one behind the other, whose keys and values are kept in pages
// that a table assigns to sequences.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_heads.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

constexpr int kCaches = 3, kEnds = 5, kPast = 6, kTable = 7, kAngles = 8;

struct Paged {
  int64_t heads, kv_heads, channels, page;  // channels of a head, rows of a page
  Value *q, *k, *v;                         // [tokens, 1, heads, channels]
  Value* sequence;                          // i64[tokens]: which sequence a token is of
  Value* own;                               // i64[tokens]: its position there
};

// [tokens, heads · channels] as heads of sequences of one token.
Value& TokenHeads(Expansion& x, Value& v, int64_t heads, int64_t channels) {
  return x.Reshape(x.Unsqueeze(v, {1}), {0, 0, heads, channels});
}

void ReadOperands(Expansion& x, Paged& p) {
  p.heads = x.RequiredInt("num_heads");
  p.kv_heads = x.RequiredInt("kv_num_heads");
  p.page = x.Extent(x.in(kCaches), 1);
  p.channels = x.Extent(x.in(kCaches), 3);
  const bool is_packed = !x.Has(1);
  const int64_t all = is_packed ? p.heads + 2 * p.kv_heads : p.heads;
  const int64_t hidden = x.Extent(x.in(0), 1);
  const bool fits = p.heads > 0 && p.kv_heads > 0 && p.heads % p.kv_heads == 0 &&
                    hidden == all * p.channels && x.Extent(x.in(kCaches), 2) == p.kv_heads;
  if (!fits) {
    x.FailInvalid(absl::StrCat(hidden, " channels for ", p.heads, " heads of queries and ",
                               p.kv_heads, " of keys of ", p.channels, " channels"));
  }
  if (!x.ok()) return;
  std::vector<Value*> parts = {&x.in(0), x.Optional(1), x.Optional(2)};
  if (is_packed) {
    const int64_t keys = p.kv_heads * p.channels;
    parts = x.Split(x.in(0), 1, {p.heads * p.channels, keys, keys});
  } else if (parts[2] == nullptr) {
    return x.FailInvalid("key without value");
  }
  p.q = &TokenHeads(x, *parts[0], p.heads, p.channels);
  p.k = &TokenHeads(x, *parts[1], p.kv_heads, p.channels);
  p.v = &TokenHeads(x, *parts[2], p.kv_heads, p.channels);
}

void ReadPositions(Expansion& x, Paged& p) {
  Value& ends = x.Cast(x.in(kEnds), DType::kI64);  // tokens before each sequence, then of all
  Value& past = x.Cast(x.in(kPast), DType::kI64);
  Value& token = x.CountTo(x.ExtentOf(x.in(0), 0));
  Value& begun = x.Op("GreaterOrEqual", {&x.Unsqueeze(token, {1}), &ends});
  Value& count = x.Op("ReduceSum", {&x.Cast(begun, DType::kI64), &x.Integers({1})},
                      {{"keepdims", int64_t{0}}});
  p.sequence = &x.Sub(count, x.Number(1, DType::kI64));
  Value& begin = x.Op("Gather", {&ends, p.sequence});
  p.own = &x.Add(x.Sub(token, begin), x.Op("Gather", {&past, p.sequence}));
}

void Rotate(Expansion& x, Paged& p) {
  const bool interleaved = x.Flag("rotary_interleaved");
  const bool rotates = x.Flag("do_rotary");
  Value *cosines = x.Optional(kAngles), *sines = x.Optional(kAngles + 1);
  if (!rotates) return;
  if (cosines == nullptr || sines == nullptr) {
    return x.FailInvalid("do_rotary without cos_cache and sin_cache");
  }
  const auto angles = [&](Value& cache) -> Value& {
    return x.Unsqueeze(x.Op("Gather", {&cache, p.own}), {1, 2});
  };
  const Rotation rotation = {&angles(*cosines), &angles(*sines), x.Extent(*cosines, 1),
                             interleaved};
  p.q = &Rotated(x, *p.q, rotation);
  p.k = &Rotated(x, *p.k, rotation);
}

// The row of all pages for each token, i64[tokens, 1].
Value& Slots(Expansion& x, Value& table, const Paged& p) {
  Value& page = x.Number(static_cast<double>(p.page), DType::kI64);
  Value& before = x.Mul(*p.sequence, x.ExtentOf(table, 1));
  Value& at = x.Add(before, x.Div(*p.own, page));
  Value& chosen = x.Op("Gather", {&x.Reshape(table, {-1}), &at});
  Value& first = x.Mul(x.Cast(chosen, DType::kI64), page);
  return x.Unsqueeze(x.Add(first, x.Op("Mod", {p.own, &page})), {1});
}

// The cache `input` with `rows` in the places `slots`, as output `input - 2`.
Value& Updated(Expansion& x, int input, Value& rows, Value& slots, const Paged& p) {
  Value& all = x.Reshape(x.in(input), {-1, p.kv_heads, p.channels});
  Value& updates = x.Reshape(rows, {-1, p.kv_heads, p.channels});
  Value& updated = x.Op("ScatterND", {&all, &slots, &updates});
  Value& cache = x.Reshape(updated, {-1, p.page, p.kv_heads, p.channels});
  x.Give(input - kCaches + 1, cache);
  return cache;
}

// The rows of the sequence of each token: [tokens, heads, rows, channels].
Value& RowsOf(Expansion& x, Value& cache, Value& pages, const Paged& p) {
  Value& rows = x.Reshape(x.Op("Gather", {&cache, &pages}), {0, -1, p.kv_heads, p.channels});
  return x.Transpose(rows, {0, 2, 1, 3});
}

// Whether a row is among the last ones that a query sees: bool[tokens, 1, 1, rows]; nullptr: all.
Value* Window(Expansion& x, Value& rows, const Paged& p) {
  const int64_t window = x.Int("local_window_size", -1);
  if (window <= 0) return nullptr;
  Value& first = x.Sub(*p.own, x.Number(static_cast<double>(window), DType::kI64));
  Value& position = x.CountTo(x.ExtentOf(rows, 2));
  return &x.Unsqueeze(x.Op("Greater", {&position, &x.Unsqueeze(first, {1})}), {1, 2});
}

void RefuseOtherForms(Expansion& x) {
  for (const auto& [name, usual] : {std::pair("k_quant_type", "NONE"),
                                    {"v_quant_type", "NONE"},
                                    {"k_cache_dtype", ""},
                                    {"v_cache_dtype", ""},
                                    {"kv_cache_layout", "SEPARATE"}}) {
    if (x.String(name, usual) != usual) x.Refuse(absl::StrCat(name, " is not implemented"));
  }
  x.Only("is_causal", 1);
  x.Only("v_head_size", 0);
  x.Only("rotary_offset", 0);
  if (x.Float("softcap", 0) != 0) x.Refuse("capped scores are not implemented");
  x.Ignore("qk_norm_epsilon");  // of inputs that are not taken
  x.Optional(16);               // bounds of lengths, which nothing here needs
}

}  // namespace

// Each token is a query of its own over the rows up to its own one, which are written before.
void ExpandPagedAttention(Expansion& x) {
  RefuseOtherForms(x);
  Paged p = {};
  ReadOperands(x, p);
  if (!x.ok()) return;
  ReadPositions(x, p);
  Rotate(x, p);
  Value& table = x.in(kTable);
  Value& slots = Slots(x, table, p);
  Value& pages = x.Op("Gather", {&table, p.sequence});
  Value& k = RowsOf(x, Updated(x, kCaches, *p.k, slots, p), pages, p);
  Value& v = RowsOf(x, Updated(x, kCaches + 1, *p.v, slots, p), pages, p);
  Value& q = x.Reshape(*p.q, {0, p.heads, 1, p.channels});
  Value& lengths = x.Add(*p.own, x.Number(1, DType::kI64));
  Value& y = x.Op("Attention", {&q, &k, &v, Window(x, k, p), nullptr, nullptr, &lengths},
                  {{"scale", static_cast<float>(ScaleOf(x, p.channels))}});
  x.Result(0, "Reshape", {&y, &x.Integers({-1, p.heads * p.channels})});
}

}  // namespace onnx_cudnn

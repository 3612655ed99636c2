// Normalizations of onnxruntime.
#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

constexpr float kEpsilon = 1e-12f;

Attrs LastAxis(float epsilon) { return {{"axis", int64_t{-1}}, {"epsilon", epsilon}}; }

// 1 / sqrt(mean(v²) + epsilon) over the axes from `axis` on, in f32 or f64.
Value& InverseDeviation(Expansion& x, Value& v, int64_t axis, float epsilon) {
  const DType dtype = v.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Value& wide = x.Cast(v, dtype);
  std::vector<int64_t> axes;
  const int64_t rank = x.Rank(v);
  for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i) axes.push_back(i);
  Value& mean = x.Op("ReduceMean", {&x.Mul(wide, wide), &x.Integers(axes)});
  return x.Op("Reciprocal", {&x.Op("Sqrt", {&x.Add(mean, x.Number(epsilon, dtype))})});
}

// input + skip (+ bias at input `bias`), which output 3 gives.
Value& SkipSum(Expansion& x, int bias) {
  Value* sum = &x.Add(x.in(0), x.in(1));
  if (Value* b = x.Optional(bias)) sum = &x.Add(*sum, *b);
  x.Give(3, *sum);
  return *sum;
}

// A sum of embeddings with the batch and the length of `words`: those of segments and positions may
// be unknown at import, and what reads the sum must know its batch (an Attention with a mask).
Value& OfTheWords(Expansion& x, Value& sum, Value& words) {
  if (const int rank = x.Rank(words); rank != 2) {
    x.FailInvalid(absl::StrCat("expected words of rank 2, found ", rank));
  }
  const bool is_known =
      Expansion::SameExtent(sum, 0, words, 0) && Expansion::SameExtent(sum, 1, words, 1);
  if (is_known || !x.ok()) return sum;
  Value& channels = x.Integers({x.Extent(x.in(2), 1)});
  Value& shape = x.Concat({&x.Op("Shape", {&words}), &channels}, 0);
  return x.Op("Reshape", {&sum, &shape});
}

// The sum of embeddings by word (input 0), by position (by default 0, 1, …) and by segment (input
// 1).
//   gather  Value&(int table, Value& ids): rows of an input
template <typename Gather>
Value& EmbeddingSum(Expansion& x, Value* places, Gather gather) {
  Value& words = x.in(0);
  Value* sum = &gather(2, words);
  if (places == nullptr) places = &x.CountTo(x.ExtentOf(words, 1));
  sum = &x.Add(*sum, gather(3, *places));
  if (Value* segments = x.Optional(1)) sum = &x.Add(*sum, gather(4, *segments));
  return OfTheWords(x, *sum, words);
}

// Gives output 1: the number of ones in each row of the mask.
void GiveMaskIndex(Expansion& x, Value* mask) {
  if (!x.Wants(1)) return;
  if (mask == nullptr) {
    const HostTensor zero = HostTensor::Of<int32_t>(DType::kI32, {1}, {0});
    return x.Result(1, "ConstantOfShape", {&x.ExtentOf(x.in(0), 0)}, {{"value", zero}});
  }
  Value& one = x.Number(1, mask->dtype());
  Value& ones = x.Cast(x.Op("Equal", {mask, &one}), DType::kI32);
  x.Result(1, "ReduceSum", {&ones, &x.Integers({1})}, {{"keepdims", int64_t{0}}});
}

// Gives output 0: v in groups of channels, scaled by inputs 1 and 2, then through SiLU if asked. In
// f32 if v or the scales are.
void GiveGroupNorm(Expansion& x, Value& v, bool channels_last) {
  const int64_t groups = x.RequiredInt("groups"), activation = x.RequiredInt("activation");
  const float epsilon = x.Float("epsilon", 1e-5f);
  const int rank = x.Rank(v);
  if (rank < 3) x.FailInvalid(absl::StrCat("expected rank 3 or more, found ", rank));
  if (activation != 0 && activation != 1) {
    x.FailInvalid(absl::StrCat("attribute \"activation\" = ", activation, ", expected 0 or 1"));
  }
  if (!x.ok()) return;
  const DType dtype = v.dtype() == x.in(1).dtype() ? v.dtype() : DType::kF32;
  Value& wide = x.Cast(v, dtype);
  Value& first = channels_last ? x.Transpose(wide, ChannelsFirst(rank)) : wide;
  Value* y = &x.Op("GroupNormalization", {&first, &x.Cast(x.in(1), dtype), &x.Cast(x.in(2), dtype)},
                   {{"epsilon", epsilon}, {"num_groups", groups}});
  if (activation == 1) y = &x.Mul(*y, x.Op("Sigmoid", {y}));
  if (channels_last) y = &x.Transpose(*y, ChannelsLast(rank));
  x.Give(0, x.Cast(*y, v.dtype()));
}

}  // namespace

void ExpandSimplifiedLayerNormalization(Expansion& x) {
  const int64_t axis = x.Int("axis", -1);
  const float epsilon = x.Float("epsilon", 1e-5f);
  x.Ignore("stash_type");  // sums are in f32 at least
  Value& v = x.in(0);
  x.Result(0, "RMSNormalization", {&v, &x.in(1)}, {{"axis", axis}, {"epsilon", epsilon}});
  if (x.Wants(1)) x.Give(1, InverseDeviation(x, v, axis, epsilon));
}

void ExpandSkipLayerNormalization(Expansion& x) {
  const float epsilon = x.Float("epsilon", kEpsilon);
  std::vector<Value*> inputs = {&SkipSum(x, 4), &x.in(2)};
  if (Value* beta = x.Optional(3)) inputs.push_back(beta);
  x.Result(0, "LayerNormalization", std::move(inputs), LastAxis(epsilon));
}

void ExpandSkipSimplifiedLayerNormalization(Expansion& x) {
  const float epsilon = x.Float("epsilon", kEpsilon);
  Value& sum = SkipSum(x, 3);
  x.Result(0, "RMSNormalization", {&sum, &x.in(2)}, LastAxis(epsilon));
}

// Its embeddings by word, by position (by default 0, 1, …) and by segment are added, and mask_index
// is the number of ones in each row of the mask.
void ExpandEmbedLayerNormalization(Expansion& x) {
  const float epsilon = x.Float("epsilon", kEpsilon);
  const bool gives_index = x.Int("mask_index_type", 1) != 0;
  const auto gather = [&](int table, Value& ids) -> Value& {
    return x.Op("Gather", {&x.in(table), &ids});
  };
  Value& sum = EmbeddingSum(x, x.Optional(8), gather);
  x.Give(2, sum);
  x.Result(0, "LayerNormalization", {&sum, &x.in(5), &x.in(6)}, LastAxis(epsilon));
  Value* mask = x.Optional(7);
  if (gives_index) GiveMaskIndex(x, mask);
}

// The same with quantized tables, of which the rows that are read are dequantized.
void ExpandQEmbedLayerNormalization(Expansion& x) {
  const float epsilon = x.Float("epsilon", kEpsilon);
  // Input `table` has its scale and its zero point at the same distance from the first ones.
  constexpr int kTables = 2, kScales = 8, kZeroPoints = 13;
  const auto dequantized = [&](int table, Value& v) -> Value& {
    return Dequantized(x, v, x.in(table - kTables + kScales), &x.in(table - kTables + kZeroPoints));
  };
  const auto gather = [&](int table, Value& ids) -> Value& {
    return dequantized(table, x.Op("Gather", {&x.in(table), &ids}));
  };
  Value& sum = EmbeddingSum(x, /*places=*/nullptr, gather);
  Value &gamma = dequantized(5, x.in(5)), &beta = dequantized(6, x.in(6));
  x.Result(0, "LayerNormalization", {&sum, &gamma, &beta}, LastAxis(epsilon));
  GiveMaskIndex(x, x.Optional(7));
}

void ExpandGroupNorm(Expansion& x) { GiveGroupNorm(x, x.in(0), x.Flag("channels_last", true)); }

// x + skip (+ bias) are normalized, and output 1 gives the sum.
void ExpandSkipGroupNorm(Expansion& x) {
  const bool channels_last = x.Flag("channels_last", true);
  Value* skip = &x.in(3);
  const int rank = x.Rank(x.in(0)), skip_rank = x.Rank(*skip);
  if (rank != 4 || (skip_rank != 2 && skip_rank != 4)) {
    x.FailInvalid(
        absl::StrCat("expected rank 4, and 2 or 4 for the skip, found ", rank, " and ", skip_rank));
  }
  if (!x.ok()) return;
  // Rows of channels, or [batch, 1, 1, channels], in either layout.
  if (!channels_last && skip_rank == 4 && x.Extent(*skip, 1) == 1) {
    skip = &x.Transpose(*skip, ChannelsFirst(4));
  }
  if (skip_rank == 2) {
    skip = &x.Unsqueeze(*skip,
                        channels_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3});
  }
  Value* sum = &x.Add(x.in(0), *skip);
  if (Value* bias = x.Optional(4)) {
    sum = &x.Add(*sum, channels_last ? *bias : x.Unsqueeze(*bias, {1, 2}));
  }
  x.Give(1, *sum);
  GiveGroupNorm(x, *sum, channels_last);
}

}  // namespace onnx_cudnn

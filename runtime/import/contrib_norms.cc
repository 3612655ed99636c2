// Normalizations of onnxruntime.
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

// Sums of embeddings by word, by position (by default 0, 1, …) and by segment. mask_index is the
// number of ones in each row of the mask.
void ExpandEmbedLayerNormalization(Expansion& x) {
  const float epsilon = x.Float("epsilon", kEpsilon);
  const bool gives_index = x.Int("mask_index_type", 1) != 0;
  Value& words = x.in(0);
  Value* sum = &x.Op("Gather", {&x.in(2), &words});
  Value* places = x.Optional(8);
  if (places == nullptr) places = &x.CountTo(x.ExtentOf(words, 1));
  sum = &x.Add(*sum, x.Op("Gather", {&x.in(3), places}));
  if (Value* segments = x.Optional(1)) sum = &x.Add(*sum, x.Op("Gather", {&x.in(4), segments}));
  x.Give(2, *sum);
  x.Result(0, "LayerNormalization", {sum, &x.in(5), &x.in(6)}, LastAxis(epsilon));
  Value* mask = x.Optional(7);
  if (!x.Wants(1) || !gives_index) return;
  if (mask == nullptr) {
    const HostTensor zero = HostTensor::Of<int32_t>(DType::kI32, {1}, {0});
    return x.Result(1, "ConstantOfShape", {&x.ExtentOf(words, 0)}, {{"value", zero}});
  }
  Value& one = x.Number(1, mask->dtype());
  Value& ones = x.Cast(x.Op("Equal", {mask, &one}), DType::kI32);
  x.Result(1, "ReduceSum", {&ones, &x.Integers({1})}, {{"keepdims", int64_t{0}}});
}

}  // namespace onnx_cudnn

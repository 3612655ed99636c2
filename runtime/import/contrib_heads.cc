#include "runtime/import/contrib_heads.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"

namespace onnx_cudnn {
namespace {

constexpr double kLowest = std::numeric_limits<float>::lowest();

// Whether keys count that lie from `starts` on and before `ends`, by batch. `mask` holds ends, or
// ends and then starts.
Value& WithinBounds(Expansion& x, Value& mask, Value& q, Value& positions) {
  Value* ends = &x.Cast(mask, DType::kI64);
  Value* starts = nullptr;
  if (!Expansion::SameExtent(mask, 0, q, 0)) {
    const int64_t batch = x.Extent(q, 0);
    if (x.Extent(mask, 0) != 2 * batch) {
      x.Refuse(absl::StrCat("a mask ", ToString(mask.type()), " for ", batch,
                            " batches is not implemented"));
      return mask;
    }
    const std::vector<Value*> bounds = x.Split(*ends, 0, {batch, batch});
    ends = bounds[0];
    starts = bounds[1];
  }
  Value& before_end = x.Op("Less", {&positions, &x.Unsqueeze(*ends, {1})});
  if (starts == nullptr) return before_end;
  return x.Op("And",
              {&before_end, &x.Op("GreaterOrEqual", {&positions, &x.Unsqueeze(*starts, {1})})});
}

// Whether keys count: bool that broadcasts to scores.
Value& Counts(Expansion& x, Value& mask, Value& q, Value& positions) {
  const int rank = x.Rank(mask);
  if (!x.ok()) return mask;
  if (rank == 1) return x.Unsqueeze(WithinBounds(x, mask, q, positions), {1, 2});
  const Dim* keys = Expansion::DimOf(mask, -1);
  if (rank > 3 || rank == 0 || keys->value == 1) {  // an extent of 1 has meant "no mask"
    x.Refuse(absl::StrCat("a mask ", ToString(mask.type()), " is not implemented"));
    return mask;
  }
  Value& counts = x.Op("Greater", {&mask, &x.Number(0, mask.dtype())});
  return rank == 2 ? x.Unsqueeze(counts, {1, 2}) : x.Unsqueeze(counts, {1});
}

// Whether a query may see a key: bool[queries, keys].
Value& NotBehind(Expansion& x, Value& q, Value& total, Value& positions) {
  Value& length = x.ExtentOf(q, 2);
  Value& own = x.Add(x.CountTo(length), x.Sub(total, length));
  return x.Op("LessOrEqual", {&positions, &x.Unsqueeze(own, {1})});
}

}  // namespace

Value& HeadsOf(Expansion& x, Value& v, int64_t heads) {
  if (x.Rank(v) != 3) x.FailInvalid(absl::StrCat(ToString(v.type()), ", expected rank 3"));
  const int64_t hidden = x.Extent(v, 2);
  if (heads < 1 || hidden % heads != 0) {
    x.FailInvalid(absl::StrCat(hidden, " channels for ", heads, " heads"));
  }
  if (!x.ok()) return v;
  return x.Transpose(x.Reshape(v, {0, 0, heads, hidden / heads}), {0, 2, 1, 3});
}

double ScaleOf(Expansion& x, int64_t channels) {
  const float scale = x.Float("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(channels));
}

Value& ScoresOf(Expansion& x, Value& q, Value& k, double scale) {
  Value& product = x.MatMul(q, x.Transpose(k, {0, 1, 3, 2}));
  return x.Scaled(x.Cast(product, DType::kF32), scale);
}

void GiveAttended(Expansion& x, Value& probabilities, Value& v, int64_t hidden) {
  Value& y = x.MatMul(x.Cast(probabilities, v.dtype()), v);
  x.Result(0, "Reshape", {&x.Transpose(y, {0, 2, 1, 3}), &x.Integers({0, 0, hidden})});
}

Value* AddedToScores(Expansion& x, const MaskParts& parts) {
  Value* added = nullptr;
  if (parts.mask != nullptr || parts.causal) {
    Value& total = x.ExtentOf(*parts.k, 2);
    Value& positions = x.CountTo(total);
    Value& zero = x.Number(0, DType::kF32);
    added = &zero;
    if (parts.mask != nullptr) {
      Value& counts = Counts(x, *parts.mask, *parts.q, positions);
      added = &x.Op("Where", {&counts, &zero, &x.Number(parts.masked, DType::kF32)});
    }
    if (parts.causal) {
      Value& sees = NotBehind(x, *parts.q, total, positions);
      added = &x.Op("Where", {&sees, added, &x.Number(kLowest, DType::kF32)});
    }
  }
  if (parts.bias == nullptr) return added;
  Value& bias = x.Cast(*parts.bias, DType::kF32);
  return added == nullptr ? &bias : &x.Add(bias, *added);
}

}  // namespace onnx_cudnn

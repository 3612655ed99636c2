#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {

Value& Rotated(Expansion& x, Value& v, const Rotation& rotation) {
  const int64_t half = rotation.half, turned = 2 * half, channels = x.Extent(v, 3);
  if (turned > channels) {
    x.FailInvalid(absl::StrCat(half, " angles for ", channels, " channels"));
    return v;
  }
  Value& front = turned == channels ? v : x.Slice(v, 3, 0, turned);
  Value& a = rotation.interleaved ? x.Slice(front, 3, 0, turned, 2) : x.Slice(front, 3, 0, half);
  Value& b =
      rotation.interleaved ? x.Slice(front, 3, 1, turned, 2) : x.Slice(front, 3, half, turned);
  Value &cosines = *rotation.cosines, &sines = *rotation.sines;
  Value* first = &x.Sub(x.Mul(a, cosines), x.Mul(b, sines));
  Value* second = &x.Add(x.Mul(a, sines), x.Mul(b, cosines));
  std::vector<Value*> parts = {first, second};
  if (rotation.interleaved) {
    Value& pairs = x.Concat({&x.Unsqueeze(*first, {4}), &x.Unsqueeze(*second, {4})}, 4);
    parts = {&x.Reshape(pairs, {0, 0, 0, turned})};
  }
  if (turned != channels) parts.push_back(&x.Slice(v, 3, turned, channels));
  return parts.size() == 1 ? *parts[0] : x.Concat(std::move(parts), 3);
}

// Positions are [batch, length], or [1]: of the first element of each batch.
void ExpandRotaryEmbedding(Expansion& x) {
  Value &v = x.in(0), &positions = x.in(1), &cosines = x.in(2), &sines = x.in(3);
  const int64_t half = x.Extent(cosines, 1);
  int64_t heads = x.Int("num_heads", 0);
  const int64_t turned = x.Int("rotary_embedding_dim", 0);
  const int rank = x.Rank(v), position_rank = x.Rank(positions);
  x.Only("is_packed_batching", 0);
  x.Ignore("scale");  // no implementation of the op reads it
  if (rank != 3 && rank != 4)
    x.FailInvalid(absl::StrCat(ToString(v.type()), ", expected rank 3 or 4"));
  if (turned != 0 && turned != 2 * half) {
    x.FailInvalid(
        absl::StrCat("attribute \"rotary_embedding_dim\" = ", turned, " for ", half, " angles"));
  }
  if (!x.ok()) return;
  const int length_axis = rank == 3 ? 1 : 2;
  Value* places = &positions;
  if (position_rank == 1) {
    places = &x.Unsqueeze(x.Add(x.CountTo(x.ExtentOf(v, length_axis)), positions), {0});
  }
  const auto angles = [&](Value& cache) -> Value& {
    return x.Unsqueeze(x.Op("Gather", {&cache, places}), {rank == 3 ? 2 : 1});
  };
  const Rotation rotation = {&angles(cosines), &angles(sines), half, x.Flag("interleaved")};
  if (rank == 4) return x.Give(0, Rotated(x, v, rotation));
  const int64_t hidden = x.Extent(v, 2);
  if (heads == 0 && turned == 0) heads = hidden / (2 * half);
  if (heads < 1 || hidden % heads != 0) {
    return x.FailInvalid(absl::StrCat(hidden, " channels for ", heads, " heads"));
  }
  Value& y = Rotated(x, x.Reshape(v, {0, 0, heads, hidden / heads}), rotation);
  x.Result(0, "Reshape", {&y, &x.Integers({0, 0, hidden})});
}

}  // namespace onnx_cudnn

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

namespace {

// Cosines and sines, [batch, length, half], or at `places`, [batch, length], of tables.
struct Angles {
  Value &cosines, &sines;
  int64_t half;
  Value* places;  // nullptr: there are no tables
};

// Gives output 0: `v`, [batch, heads, length, channels] or rows of all heads, turned.
void GiveRotated(Expansion& x, Value& v, int64_t heads, const Angles& angles) {
  const bool is_joined = x.Rank(v) == 3;
  const auto beside_heads = [&](Value& table) -> Value& {
    Value& rows = angles.places == nullptr ? table : x.Op("Gather", {&table, angles.places});
    return x.Unsqueeze(rows, {is_joined ? 2 : 1});
  };
  const Rotation rotation = {&beside_heads(angles.cosines), &beside_heads(angles.sines),
                             angles.half, x.Flag("interleaved")};
  if (!is_joined) return x.Give(0, Rotated(x, v, rotation));
  const int64_t hidden = x.Extent(v, 2);
  if (heads < 1 || hidden % heads != 0) {
    return x.FailInvalid(absl::StrCat(hidden, " channels for ", heads, " heads"));
  }
  Value& y = Rotated(x, x.Reshape(v, {0, 0, heads, hidden / heads}), rotation);
  x.Result(0, "Reshape", {&y, &x.Integers({0, 0, hidden})});
}

// A negative number: not known.
int64_t KnownExtent(const Value& v, int axis) {
  const Dim* dim = Expansion::DimOf(v, axis);
  return dim == nullptr ? -1 : dim->value;
}

}  // namespace

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
  if (heads == 0 && turned == 0 && rank == 3) heads = x.Extent(v, 2) / (2 * half);
  GiveRotated(x, v, heads, {cosines, sines, half, places});
}

bool KnowsRotation(const NodeSpec& spec) {
  const std::vector<Value*>& in = spec.inputs;
  const bool has_positions = in.size() > 3 && in[3] != nullptr;
  if (in.size() < 3 || in[0] == nullptr || in[1] == nullptr || in[2] == nullptr) return false;
  const auto has_rank = [&](int input, int rank) {
    const Type& type = in[input]->type();
    return type.is_tensor() && type.ranked && in[input]->rank() == rank;
  };
  const int64_t heads = spec.attrs.Int("num_heads", 0);
  const int64_t given = spec.attrs.Int("rotary_embedding_dim", 0);
  const bool is_joined = has_rank(0, 3);
  if (is_joined ? heads < 1 : !has_rank(0, 4)) return false;
  const int64_t row = KnownExtent(*in[0], is_joined ? 2 : 3);
  const int64_t channels = is_joined && row > 0 && row % heads == 0 ? row / heads : row;
  const int64_t turned = given > 0 ? given : channels;
  if (row <= 0 || (is_joined && row % heads != 0) || turned > channels || turned % 2 != 0) {
    return false;
  }
  const int angle_rank = has_positions ? 2 : 3;
  if (has_positions && !has_rank(3, 2)) return false;
  for (const int input : {1, 2}) {
    if (!has_rank(input, angle_rank)) return false;
    if (KnownExtent(*in[input], angle_rank - 1) != turned / 2) return false;
  }
  return true;
}

void ExpandStandardRotaryEmbedding(Expansion& x) {
  Value &v = x.in(0), &cosines = x.in(1), &sines = x.in(2);
  Value* places = x.Optional(3);
  x.Ignore("rotary_embedding_dim");  // twice the angles, as KnowsRotation has found
  const int64_t half = x.Extent(cosines, places == nullptr ? 2 : 1);
  GiveRotated(x, v, x.Int("num_heads", 0), {cosines, sines, half, places});
}

}  // namespace onnx_cudnn

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "tests/random/makers.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

bool HasTwoAxes(const Value& x) { return x.rank() >= 2; }
bool HasRoom(const Value& x) { return x.rank() <= 4; }

Ints Permutation(Growth& g, int rank) {
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  for (int i = rank - 1; i > 0; --i) std::swap(perm[i], perm[g.Below(i + 1)]);
  return perm;
}

void Transpose(Growth& g, Value& x) {
  g.AddValue("Transpose", {&x}, {{"perm", Permutation(g, x.rank())}});
}

// Distributes the elements over one to three axes; one extent may be -1 or 0 (copied).
void Reshape(Growth& g, Value& x) {
  Ints dims;
  int64_t left = x.elements();
  for (int i = g.Below(3); i > 0; --i) {
    Ints divisors;
    for (int64_t d = 1; d <= left; ++d) {
      if (left % d == 0) divisors.push_back(d);
    }
    dims.push_back(g.OneOf(divisors));
    left /= dims.back();
  }
  dims.push_back(left);
  if (x.rank() > 0 && dims[0] == x.dim(0) && g.OneIn(2)) dims[0] = 0;
  if (g.OneIn(2)) dims.back() = -1;
  g.AddValue("Reshape", {&x, &g.Ints(dims)});
}

void Flatten(Growth& g, Value& x) {
  g.AddValue("Flatten", {&x}, {{"axis", int64_t{g.Below(x.rank() + 1)}}});
}

void Unsqueeze(Growth& g, Value& x) {
  g.AddValue("Unsqueeze", {&x, &g.Ints({g.Below(x.rank() + 1)})});
}

void Squeeze(Growth& g, Value& x) {
  Ints ones;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.dim(i) == 1) ones.push_back(i);
  }
  if (ones.empty() || g.OneIn(3)) {
    g.AddValue("Squeeze", {&x});
  } else {
    g.AddValue("Squeeze", {&x, &g.Ints({g.OneOf(ones)})});
  }
}

void Concat(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  const auto joins = [&](const Value& v) {
    if (v.dtype() != x.dtype() || v.rank() != x.rank()) return false;
    for (int i = 0; i < x.rank(); ++i) {
      if (i != axis && v.dim(i) != x.dim(i)) return false;
    }
    return true;
  };
  g.AddValue("Concat", {&x, g.Pick(joins)}, {{"axis", int64_t{axis}}});
}

void Split(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  if (x.dim(axis) < 2) return;
  const int64_t first = 1 + g.Below(static_cast<int>(x.dim(axis)) - 1);
  g.Add({.op = "Split",
         .inputs = {&x, &g.Ints({first, x.dim(axis) - first})},
         .attrs = {{"axis", int64_t{axis}}},
         .outputs = {"*", "*"}});
}

void Slice(Growth& g, Value& x) {
  const int64_t axis = RandomAxis(g, x),
                extent = x.dim(static_cast<int>((axis + x.rank()) % x.rank()));
  const int64_t begin = g.Below(static_cast<int>(extent)), step = 1 + g.Below(2);
  if (g.OneIn(4)) {
    g.AddValue("Slice",
               {&x, &g.Ints({-1}), &g.Ints({-extent - 1}), &g.Ints({axis}), &g.Ints({-step})});
  } else {
    const int64_t end = g.OneIn(2) ? INT64_MAX : begin + 1 + g.Below(static_cast<int>(extent));
    g.AddValue("Slice", {&x, &g.Ints({begin}), &g.Ints({end}), &g.Ints({axis}), &g.Ints({step})});
  }
}

void Pad(Growth& g, Value& x) {
  static const std::vector<std::string> kModes = {"constant", "constant", "edge", "reflect",
                                                  "wrap"};
  Ints pads(2 * x.rank());
  for (int64_t& p : pads) p = g.OneIn(2) ? 0 : g.Below(3) - (g.OneIn(4) ? 1 : 0);
  g.AddValue("Pad", {&x, &g.Ints(pads)}, {{"mode", g.OneOf(kModes)}});
}

// Indices into `axis` of `x`, some of them negative.
Value& Indices(Growth& g, const Value& x, int axis, Dims dims) {
  const int extent = static_cast<int>(x.dim(axis));
  HostTensor indices = HostTensor::Allocate(DType::kI64, std::move(dims));
  for (int64_t& i : indices.mutable_data<int64_t>()) i = g.Below(2 * extent) - extent;
  return g.graph().AddConstant(std::move(indices));
}

void Gather(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  const Dims dims = g.OneIn(2) ? Dims{2} : g.OneIn(2) ? Dims{} : Dims{2, 2};
  g.AddValue("Gather", {&x, &Indices(g, x, axis, dims)}, {{"axis", int64_t{axis}}});
}

void GatherElements(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  g.AddValue("GatherElements", {&x, &Indices(g, x, axis, x.dims())}, {{"axis", int64_t{axis}}});
}

void ScatterND(Growth& g, Value& x) {
  Dims updates = x.dims();
  updates[0] = 1;
  Value& rows = g.Ints({g.Below(static_cast<int>(x.dim(0)))});
  Value* index = g.AddValue("Unsqueeze", {&rows, &g.Ints({1})});
  g.AddValue("ScatterND", {&x, index, &g.Constant(x.dtype(), updates)});
}

void Expand(Growth& g, Value& x) {
  Ints dims = x.dims();
  for (int64_t& d : dims) {
    if (d == 1) d = 1 + g.Below(3);
  }
  if (g.OneIn(3)) dims.insert(dims.begin(), 2);
  g.AddValue("Expand", {&x, &g.Ints(dims)});
}

void Tile(Growth& g, Value& x) {
  Ints repeats(x.rank());
  for (int64_t& r : repeats) r = 1 + g.Below(2);
  g.AddValue("Tile", {&x, &g.Ints(repeats)});
}

void SpaceToDepth(Growth& g, Value& x) {
  g.AddValue("SpaceToDepth", {&x}, {{"blocksize", int64_t{2}}});
}
void DepthToSpace(Growth& g, Value& x) {
  g.AddValue("DepthToSpace", {&x},
             {{"blocksize", int64_t{2}}, {"mode", std::string(g.OneIn(2) ? "DCR" : "CRD")}});
}

void Trilu(Growth& g, Value& x) { g.AddValue("Trilu", {&x}, {{"upper", int64_t{g.Below(2)}}}); }

void Resize(Growth& g, Value& x) {
  static const std::vector<std::string> kModes = {"nearest", "linear", "cubic"};
  static const std::vector<std::string> kPlaces = {"half_pixel", "asymmetric", "align_corners"};
  Ints sizes = x.dims();
  for (int i = 2; i < 4; ++i) sizes[i] = 1 + g.Below(2 * static_cast<int>(sizes[i]));
  g.Add(
      {.op = "Resize",
       .inputs = {&x, nullptr, nullptr, &g.Ints(sizes)},
       .attrs = {{"mode", g.OneOf(kModes)}, {"coordinate_transformation_mode", g.OneOf(kPlaces)}}});
}

void Identity(Growth& g, Value& x) { g.AddValue(g.OneIn(3) ? "Dropout" : "Identity", {&x}); }

void Shape(Growth& g, Value& x) { g.AddValue(g.OneIn(4) ? "Size" : "Shape", {&x}); }

void OneHot(Growth& g, Value& x) {
  Value* index = g.AddValue("ArgMax", {&x}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}});
  g.AddValue("OneHot", {index, &g.Ints({x.dim(x.rank() - 1)}), &g.Constant(DType::kF32, {2})});
}

constexpr Maker kMakers[] = {
    {HasAxes, Transpose}, {HasAxes, Reshape}, {HasAxes, Flatten},        {HasRoom, Unsqueeze},
    {HasAxes, Squeeze},   {HasAxes, Concat},  {HasAxes, Split},          {HasAxes, Slice},
    {IsFloat, Pad},       {HasAxes, Gather},  {HasAxes, GatherElements}, {HasAxes, ScatterND},
    {HasAxes, Expand},    {HasAxes, Tile},    {IsImage, SpaceToDepth},   {IsImage, DepthToSpace},
    {HasTwoAxes, Trilu},  {IsImage, Resize},  {HasRoom, Identity},       {HasRoom, Shape},
    {HasTwoAxes, OneHot},
};

}  // namespace

absl::Span<const Maker> MovementMakers() { return kMakers; }

}  // namespace onnx_cudnn

#include <array>
#include <string>
#include <vector>

#include "tests/random/makers.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

constexpr std::array kReductions = {"ReduceL1",   "ReduceL2",   "ReduceLogSumExp",
                                    "ReduceMax",  "ReduceMean", "ReduceMin",
                                    "ReduceProd", "ReduceSum",  "ReduceSumSquare"};
constexpr std::array kGlobalPools = {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"};
constexpr std::array kPools = {"MaxPool", "AveragePool", "LpPool"};
constexpr std::array kSoftmaxes = {"Softmax", "LogSoftmax", "Hardmax"};

bool IsSequence(const Value& x) { return IsFloat(x) && (x.rank() == 3 || x.rank() == 4); }
bool IsMatrix(const Value& x) { return IsFloat(x) && x.rank() == 2; }
bool IsMatrices(const Value& x) { return IsFloat(x) && x.rank() >= 2; }
bool IsTensor(const Value& x) { return IsFloat(x) && x.rank() >= 1; }
bool IsUpToVolume(const Value& x) { return IsTensor(x) && x.rank() <= 4; }

// Random attributes of a window over the spatial axes of `x`.
Attrs WindowAttrs(Growth& g, const Value& x, const Ints& kernel) {
  const size_t axes = x.rank() - 2;
  Attrs attrs = {{"kernel_shape", kernel}};
  if (g.OneIn(3)) attrs.Set("strides", Ints(axes, 2));
  if (g.OneIn(5))
    attrs.Set("auto_pad", std::string(g.OneIn(2) ? "SAME_UPPER" : "SAME_LOWER"));
  else if (g.OneIn(2))
    attrs.Set("pads", Ints(2 * axes, kernel[0] / 2));
  return attrs;
}

Ints Kernel(Growth& g, const Value& x) { return Ints(x.rank() - 2, 1 + g.Below(3)); }

// A divisor of the channels: 1, all channels, or half of them.
int64_t Groups(Growth& g, int64_t channels) {
  if (g.OneIn(2)) return 1;
  return channels % 2 == 0 && g.OneIn(2) ? 2 : channels;
}

void Conv(Growth& g, Value& x) {
  const Ints kernel = Kernel(g, x);
  const int64_t groups = Groups(g, x.dim(1)), channels = groups * (1 + g.Below(3));
  Dims weight = {channels, x.dim(1) / groups};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  Attrs attrs = WindowAttrs(g, x, kernel);
  attrs.Set("group", groups);
  if (g.OneIn(6)) attrs.Set("dilations", Ints(kernel.size(), 2));
  Value* bias = g.OneIn(2) ? &g.Constant(x.dtype(), {channels}) : nullptr;
  g.Add({.op = "Conv", .inputs = {&x, &g.Constant(x.dtype(), weight), bias}, .attrs = attrs});
}

void ConvTranspose(Growth& g, Value& x) {
  const Ints kernel = Kernel(g, x);
  const int64_t groups = Groups(g, x.dim(1)), channels = 1 + g.Below(3);
  Dims weight = {x.dim(1), channels};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  Attrs attrs = {{"group", groups}};
  if (g.OneIn(2)) attrs.Set("strides", Ints(kernel.size(), 2));
  if (kernel[0] == 3 && g.OneIn(2)) attrs.Set("pads", Ints(2 * kernel.size(), 1));
  Value* bias = g.OneIn(2) ? &g.Constant(x.dtype(), {channels * groups}) : nullptr;
  g.Add({.op = "ConvTranspose",
         .inputs = {&x, &g.Constant(x.dtype(), weight), bias},
         .attrs = attrs});
}

void Pool(Growth& g, Value& x) {
  Attrs attrs = WindowAttrs(g, x, Kernel(g, x));
  const char* op = g.OneOf(kPools);
  if (g.OneIn(3)) attrs.Set("ceil_mode", int64_t{1});
  g.Add({.op = op, .inputs = {&x}, .attrs = attrs});
}

void GlobalPool(Growth& g, Value& x) { g.AddValue(g.OneOf(kGlobalPools), {&x}); }

void MatMul(Growth& g, Value& x) {
  const int64_t k = x.dim(x.rank() - 1);
  const auto multiplies = [&](const Value& v) {
    return v.dtype() == x.dtype() && v.rank() >= 2 && v.dim(v.rank() - 2) == k;
  };
  Value* other = g.OneIn(2) ? g.Pick(multiplies) : nullptr;
  if (other == nullptr) other = &g.Constant(x.dtype(), {k, 1 + g.Below(6)});
  g.AddValue("MatMul", {&x, other});
}

// A second operand is a constant; labels that `x` has not are of 1 to 4.
void Einsum(Growth& g, Value& x) {
  static const std::vector<std::vector<std::string>> kEquations = {
      {"i->", "i,i->", "i,j->ji"},
      {"ij->ji", "ij,jk->ik", "ij,kj->ki", "ij,ij->i", "ij,k->kj"},
      {"abc->ca", "bij,bkj->bik", "bij,jk->bki", "bij,jhd->bihd"},
      {"bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bhwc,hkc->bhwk", "bshd,hdo->bso"}};
  const std::string& equation = g.OneOf(kEquations[x.rank() - 1]);
  const size_t end = equation.find("->"), comma = equation.find(',');
  std::vector<Value*> inputs = {&x};
  if (comma != std::string::npos) {
    Dims dims;
    for (const char label : equation.substr(comma + 1, end - comma - 1)) {
      const size_t axis = equation.find(label);
      dims.push_back(axis < comma ? x.dim(static_cast<int>(axis)) : 1 + g.Below(4));
    }
    inputs.push_back(&g.Constant(x.dtype(), dims));
  }
  g.AddValue("Einsum", inputs, {{"equation", equation}});
}

void Gemm(Growth& g, Value& x) {
  const bool turned = g.OneIn(2);
  const int64_t k = x.dim(1), n = 1 + g.Below(6);
  Value* bias = g.OneIn(3) ? nullptr : &g.Constant(x.dtype(), g.OneIn(2) ? Dims{n} : Dims{1, n});
  Attrs attrs = {{"transB", int64_t{turned}}};
  if (g.OneIn(3)) attrs.Set("alpha", 0.5f);
  if (g.OneIn(3)) attrs.Set("beta", 2.0f);
  Value& weight = g.Constant(x.dtype(), turned ? Dims{n, k} : Dims{k, n});
  g.Add({.op = "Gemm", .inputs = {&x, &weight, bias}, .attrs = attrs});
}

void BatchNorm(Growth& g, Value& x) {
  const Dims channels = {x.dim(1)};
  g.AddValue("BatchNormalization",
             {&x, &g.Constant(x.dtype(), channels), &g.Constant(x.dtype(), channels),
              &g.Constant(x.dtype(), channels), &g.Constant(x.dtype(), channels, 0.5, 2)},
             {{"epsilon", g.OneIn(2) ? 1e-5f : 1e-2f}});
}

void InstanceNorm(Growth& g, Value& x) {
  const Dims channels = {x.dim(1)};
  g.AddValue("InstanceNormalization",
             {&x, &g.Constant(x.dtype(), channels), &g.Constant(x.dtype(), channels)});
}

void GroupNorm(Growth& g, Value& x) {
  const Dims channels = {x.dim(1)};
  g.AddValue("GroupNormalization",
             {&x, &g.Constant(x.dtype(), channels), &g.Constant(x.dtype(), channels)},
             {{"num_groups", Groups(g, x.dim(1))}});
}

void LayerNorm(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  Dims dims = x.dims();
  dims.erase(dims.begin(), dims.begin() + axis);
  Value& scale = g.Constant(x.dtype(), dims);
  if (g.OneIn(3)) {
    g.AddValue("RMSNormalization", {&x, &scale}, {{"axis", int64_t{axis}}});
  } else {
    g.AddValue("LayerNormalization", {&x, &scale, &g.Constant(x.dtype(), dims)},
               {{"axis", int64_t{axis}}});
  }
}

void OtherNorm(Growth& g, Value& x) {
  if (g.OneIn(2)) {
    g.AddValue("LpNormalization", {&x}, {{"axis", int64_t{1}}, {"p", int64_t{1 + g.Below(2)}}});
  } else {
    g.AddValue("LRN", {&x}, {{"size", int64_t{3}}});
  }
}

void MeanVarianceNorm(Growth& g, Value& x) { g.AddValue("MeanVarianceNormalization", {&x}); }

void Softmax(Growth& g, Value& x) {
  g.AddValue(g.OneOf(kSoftmaxes), {&x}, {{"axis", RandomAxis(g, x)}});
}

void Reduce(Growth& g, Value& x) {
  Value* axes = g.OneIn(4) ? nullptr : &g.Ints({RandomAxis(g, x)});
  g.Add({.op = g.OneOf(kReductions),
         .inputs = {&x, axes},
         .attrs = {{"keepdims", int64_t{g.Below(2)}}}});
}

void ArgReduce(Growth& g, Value& x) {
  g.AddValue(g.OneIn(2) ? "ArgMax" : "ArgMin", {&x},
             {{"axis", RandomAxis(g, x)}, {"keepdims", int64_t{g.Below(2)}}});
}

void TopK(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  g.Add({.op = "TopK",
         .inputs = {&x, &g.Ints({1 + g.Below(static_cast<int>(x.dim(axis)))})},
         .attrs = {{"axis", int64_t{axis}}},
         .outputs = {"*", "*"}});
}

void CumSum(Growth& g, Value& x) {
  g.AddValue("CumSum", {&x, &g.Filled(DType::kI64, {}, g.Below(x.rank()))});
}

constexpr Maker kMakers[] = {
    {IsSequence, Conv},       {IsSequence, Conv},
    {IsSequence, Conv},       {IsSequence, ConvTranspose},
    {IsSequence, Pool},       {IsSequence, Pool},
    {IsSequence, GlobalPool}, {IsMatrices, MatMul},
    {IsMatrices, MatMul},     {IsMatrix, Gemm},
    {IsMatrix, Gemm},         {IsUpToVolume, Einsum},
    {IsMatrices, BatchNorm},  {IsSequence, InstanceNorm},
    {IsSequence, GroupNorm},  {IsTensor, LayerNorm},
    {IsImage, OtherNorm},     {IsImage, MeanVarianceNorm},
    {IsTensor, Softmax},      {IsTensor, Reduce},
    {IsTensor, Reduce},       {HasAxes, ArgReduce},
    {HasAxes, TopK},          {IsTensor, CumSum},
};

}  // namespace

absl::Span<const Maker> NumericMakers() { return kMakers; }

}  // namespace onnx_cudnn

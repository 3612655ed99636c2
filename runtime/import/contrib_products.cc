// Products of com.microsoft in floats.
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

// The operand of a FusedMatMul, transposed. transBatch moves the first axis before the last.
Value& Operand(Expansion& x, Value& v, bool transposes, bool moves_batch) {
  if (!transposes && !moves_batch) return v;
  const int rank = x.Rank(v);
  if (!x.ok() || rank < 2) return v;
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (moves_batch) {
    std::iota(perm.begin(), perm.end() - 2, 1);
    perm[rank - 2] = 0;
  }
  if (transposes) std::swap(perm[rank - 2], perm[rank - 1]);
  return x.Transpose(v, std::move(perm));
}

// Those of FusedGemm and FusedMatMulActivation that are stated.
std::vector<float> ActivationParameters(Expansion& x) {
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    const float parameter = x.Float(name, 0);
    if (x.HasAttr(name)) parameters.push_back(parameter);
  }
  return parameters;
}

struct Operands {
  Value &a, &b;
};
Operands FusedOperands(Expansion& x) {
  return {.a = Operand(x, x.in(0), x.Flag("transA"), x.Flag("transBatchA")),
          .b = Operand(x, x.in(1), x.Flag("transB"), x.Flag("transBatchB"))};
}

// Of input 0: batch, spatial axes, channels.
int RankOfImages(Expansion& x) {
  const int rank = x.Rank(x.in(0));
  if (rank < 3) x.FailInvalid(absl::StrCat("expected rank 3 or more, found ", rank));
  return rank;
}

}  // namespace

void ExpandFusedMatMul(Expansion& x) {
  const float alpha = x.Float("alpha", 1);
  const auto [a, b] = FusedOperands(x);
  if (alpha == 1) return x.Result(0, "MatMul", {&a, &b});
  x.Result(0, "Mul", {&x.MatMul(a, b), &x.Number(alpha, a.dtype())});
}

void ExpandFusedMatMulActivation(Expansion& x) {
  const float alpha = x.Float("alpha", 1);
  const auto [a, b] = FusedOperands(x);
  Value& product = x.MatMul(a, b);
  GiveActivated(x, alpha == 1 ? product : x.Scaled(product, alpha), x.String("activation", ""),
                ActivationParameters(x));
}

void ExpandFusedGemm(Expansion& x) {
  std::vector<Value*> inputs = {&x.in(0), &x.in(1)};
  if (Value* c = x.Optional(2)) inputs.push_back(c);
  Value& y = x.Op("Gemm", std::move(inputs), x.Take({"alpha", "beta", "transA", "transB"}));
  GiveActivated(x, y, x.String("activation", ""), ActivationParameters(x));
}

// Z, if present, is added before the activation.
void ExpandFusedConv(Expansion& x) {
  std::vector<Value*> inputs = {&x.in(0), &x.in(1)};
  if (Value* bias = x.Optional(2)) inputs.push_back(bias);
  Value& y = x.Op("Conv", std::move(inputs),
                  x.Take({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  Value* z = x.Optional(3);
  GiveActivated(x, z == nullptr ? y : x.Add(y, *z), x.String("activation", ""),
                x.Floats("activation_params"));
}

// No other ops express it: it stays what it is.
void ExpandInverse(Expansion& x) {
  x.in(0);
  x.Keep();
}

// X, Z and Y have their channels behind the spatial axes, W has them as in a Conv.
void ExpandNhwcFusedConv(Expansion& x) {
  const int rank = RankOfImages(x);
  if (!x.ok()) return;
  std::vector<Value*> inputs = {&x.Transpose(x.in(0), ChannelsFirst(rank)), &x.in(1)};
  if (Value* bias = x.Optional(2)) inputs.push_back(bias);
  Value& conv = x.Op("Conv", std::move(inputs),
                     x.Take({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  Value& y = x.Transpose(conv, ChannelsLast(rank));
  Value* z = x.Optional(3);
  GiveActivated(x, z == nullptr ? y : x.Add(y, *z), x.String("activation", ""),
                x.Floats("activation_params"));
}

void ExpandNhwcMaxPool(Expansion& x) {
  const int rank = RankOfImages(x);
  if (!x.ok()) return;
  Value& pool =
      x.Op("MaxPool", {&x.Transpose(x.in(0), ChannelsFirst(rank))},
           x.Take({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"}));
  x.Result(0, "Transpose", {&pool}, {{"perm", ChannelsLast(rank)}});
}

}  // namespace onnx_cudnn

// Products of com.microsoft with quantized operands.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

// v + bias, or v, as output 0.
void GiveBiased(Expansion& x, Value& v, Value* bias) {
  if (bias == nullptr) return x.Give(0, v);
  x.Result(0, "Add", {&v, bias});
}

// Weights of 2, 4 or 8 bits, in blocks along K.
struct BlockedWeights {
  int64_t k, n, bits, block;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t padded() const { return blocks() * block; }  // K, with the rest of the last block
  DType dtype() const { return bits == 2 ? DType::kU2 : bits == 4 ? DType::kU4 : DType::kU8; }
};

// Packed bytes as `rows` rows of `columns` elements; the first element is in the lowest bits, as
// ONNX packs them.
HostTensor Unpacked(const HostTensor& bytes, DType dtype, int64_t rows, int64_t columns) {
  return HostTensor::Borrow(dtype, {rows, columns}, bytes.raw(),
                            std::make_shared<const HostTensor>(bytes));
}

// Element `i` of packed elements of `bits`.
int ElementOf(const uint8_t* packed, int64_t i, int64_t bits) {
  const int64_t at = i * bits;
  return packed[at / 8] >> (at % 8) & ((1 << bits) - 1);
}

// Zero points, u8[blocks by row] packed, each row from a byte on; nullptr: the middle of the range.
HostTensor ZeroPoints(const HostTensor* packed, const BlockedWeights& w) {
  const int64_t blocks = w.blocks(), row_bytes = (blocks * w.bits + 7) / 8;
  HostTensor zeros = HostTensor::Allocate(w.dtype(), {w.n, blocks});
  auto* to = static_cast<uint8_t*>(zeros.mutable_raw());
  std::fill_n(to, zeros.bytes(), 0);
  for (int64_t i = 0; i < w.n * blocks; ++i) {
    const int zero =
        packed == nullptr
            ? 1 << (w.bits - 1)
            : ElementOf(static_cast<const uint8_t*>(packed->raw()) + i / blocks * row_bytes,
                        i % blocks, w.bits);
    to[i * w.bits / 8] |= static_cast<uint8_t>(zero << (i * w.bits % 8));
  }
  return zeros;
}

// A constant of the node whose bytes the expansion reads; nullptr after a failure.
const HostTensor* ConstantBytes(Expansion& x, int i, int64_t bytes) {
  const Value& v = x.in(i);
  if (!x.ok()) return nullptr;
  if (!v.is_constant()) {
    x.Refuse(absl::StrCat("input ", i, " is not a constant"));
  } else if (v.dtype() != DType::kU8 || v.bytes() != bytes) {
    x.FailInvalid(
        absl::StrCat("input ", i, " is ", ToString(v.type()), ", expected ", bytes, " bytes"));
  }
  return x.ok() ? &v.constant() : nullptr;
}

// [N, padded K] in the type of the scales, [N, blocks].
Value& DequantizedWeights(Expansion& x, const BlockedWeights& w) {
  const HostTensor* packed = ConstantBytes(x, 1, w.n * w.padded() * w.bits / 8);
  Value& scales = x.Reshape(x.in(2), {w.n, w.blocks()});
  if (packed == nullptr) return scales;
  Value& weights = x.Constant(Unpacked(*packed, w.dtype(), w.n, w.padded()));
  const Attrs by_block = {{"axis", int64_t{1}}, {"block_size", w.block}};
  if (!x.Has(3) || x.in(3).dtype() == DType::kU8) {
    const HostTensor* zeros =
        x.Has(3) ? ConstantBytes(x, 3, w.n * ((w.blocks() * w.bits + 7) / 8)) : nullptr;
    if (!x.ok()) return scales;
    return x.Op("DequantizeLinear", {&weights, &scales, &x.Constant(ZeroPoints(zeros, w))},
                by_block);
  }
  // Zero points in floats: scale · weight - scale · zero.
  Value& plain = x.Op("DequantizeLinear", {&weights, &scales}, by_block);
  Value& zeros = x.Mul(x.Reshape(x.in(3), {w.n, w.blocks()}), scales);
  Value& moved = x.Sub(x.Reshape(plain, {w.n, w.blocks(), w.block}), x.Unsqueeze(zeros, {2}));
  return x.Reshape(moved, {w.n, w.padded()});
}

}  // namespace

Value& Multiplied(Expansion& x, const IntegerProduct& product) {
  std::vector<Value*> inputs = {product.a, product.b};
  if (product.a_zero != nullptr || product.b_zero != nullptr) inputs.push_back(product.a_zero);
  if (product.b_zero != nullptr) inputs.push_back(product.b_zero);
  Value& y = x.Op("MatMulInteger", std::move(inputs));
  Value& scale = x.Mul(*product.a_scale, *product.b_scale);
  return x.Mul(x.Cast(y, scale.dtype()), scale);
}

void ExpandMatMulIntegerToFloat(Expansion& x) {
  Value& y = Multiplied(x, {.a = &x.in(0),
                            .b = &x.in(1),
                            .a_zero = x.Optional(4),
                            .b_zero = x.Optional(5),
                            .a_scale = &x.in(2),
                            .b_scale = &x.in(3)});
  GiveBiased(x, y, x.Optional(6));
}

void ExpandDynamicQuantizeMatMul(Expansion& x) {
  const std::vector<Value*> a = x.Outputs("DynamicQuantizeLinear", {&x.in(0)}, {}, 3);
  Value& y = Multiplied(x, {.a = a[0],
                            .b = &x.in(1),
                            .a_zero = a[2],
                            .b_zero = x.Optional(3),
                            .a_scale = a[1],
                            .b_scale = &x.in(2)});
  GiveBiased(x, y, x.Optional(4));
}

void ExpandMatMulNBits(Expansion& x) {
  const BlockedWeights w = {.k = x.RequiredInt("K"),
                            .n = x.RequiredInt("N"),
                            .bits = x.Int("bits", 4),
                            .block = x.RequiredInt("block_size")};
  x.Ignore("accuracy_level");  // how far a may be rounded: it is not
  x.Only("weight_prepacked", 0);
  if (w.bits != 2 && w.bits != 4 && w.bits != 8) {
    x.Refuse(absl::StrCat("attribute \"bits\" = ", w.bits, " is not implemented"));
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  if (w.k < 1 || w.n < 1 || w.block < 16 || w.k > kMost || w.n > kMost || w.block > kMost) {
    x.FailInvalid(absl::StrCat("K = ", w.k, ", N = ", w.n, ", block_size = ", w.block));
  }
  if (!x.ok()) return;
  Value* weights = &DequantizedWeights(x, w);
  if (w.padded() != w.k) weights = &x.Slice(*weights, 1, 0, w.k);
  Value& transposed = x.Transpose(*weights, {1, 0});
  Value* bias = x.Optional(5);
  if (bias == nullptr) return x.Result(0, "MatMul", {&x.in(0), &transposed});
  GiveBiased(x, x.MatMul(x.in(0), transposed), bias);
}

// alpha · a_scale · b_scale · (A · B + C), rounded if there is a scale of y.
void ExpandQGemm(Expansion& x) {
  const float alpha = x.Float("alpha", 1);
  const auto operand = [&](int i, const char* transposes) -> Value& {
    return x.Flag(transposes) ? x.Transpose(x.in(i), {1, 0}) : x.in(i);
  };
  Value &a = operand(0, "transA"), &b = operand(3, "transB");
  Value* product = &x.Op("MatMulInteger", {&a, &b, &x.in(2), &x.in(5)});
  if (Value* c = x.Optional(6)) product = &x.Add(*product, *c);
  Value* scale = &x.Mul(x.in(1), x.in(4));
  if (alpha != 1) scale = &x.Scaled(*scale, alpha);
  Value& y = x.Mul(x.Cast(*product, DType::kF32), *scale);
  if (!x.Has(7)) return x.Give(0, y);
  GiveQuantized(x, y, x.in(7), x.Optional(8), a.dtype());
}

// ONNX's QLinearConv, with channels before or behind the spatial axes.
void ExpandQLinearConv(Expansion& x) {
  const bool channels_last = x.Flag("channels_last");
  Attrs attrs = x.Take({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  std::vector<Value*> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(&x.in(i));
  if (Value* bias = x.Optional(8)) inputs.push_back(bias);
  if (!channels_last) return x.Result(0, "QLinearConv", std::move(inputs), std::move(attrs));
  const int rank = x.Rank(*inputs[0]);
  if (rank < 3) x.FailInvalid(absl::StrCat("expected rank 3 or more, found ", rank));
  if (!x.ok()) return;
  inputs[0] = &x.Transpose(*inputs[0], ChannelsFirst(rank));
  Value& y = x.Op("QLinearConv", std::move(inputs), std::move(attrs));
  x.Result(0, "Transpose", {&y}, {{"perm", ChannelsLast(rank)}});
}

}  // namespace onnx_cudnn

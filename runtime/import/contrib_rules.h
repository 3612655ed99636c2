// The expansions of contrib.cc, by family.
#pragma once

#include "runtime/import/expansion.h"

namespace onnx_cudnn {

// contrib_training.cc: ai.onnx.preview.training
void ExpandAdagrad(Expansion& x);
void ExpandAdam(Expansion& x);
void ExpandMomentum(Expansion& x);

// contrib_flex_attention.cc: ai.onnx.preview
void ExpandFlexAttention(Expansion& x);

// contrib_activations.cc
void ExpandBiasAdd(Expansion& x);
void ExpandBiasGelu(Expansion& x);
void ExpandBiasSplitGelu(Expansion& x);
void ExpandFastGelu(Expansion& x);
void ExpandGelu(Expansion& x);
void ExpandQuickGelu(Expansion& x);
// y = activation(v) with the parameters of FusedGemm, FusedConv; fails for another name.
void GiveActivated(Expansion& x, Value& v, std::string_view activation,
                   const std::vector<float>& parameters);

// contrib_products.cc
void ExpandFusedConv(Expansion& x);
void ExpandFusedGemm(Expansion& x);
void ExpandFusedMatMul(Expansion& x);
void ExpandFusedMatMulActivation(Expansion& x);
void ExpandInverse(Expansion& x);
void ExpandNhwcFusedConv(Expansion& x);  // NhwcConv, too
void ExpandNhwcMaxPool(Expansion& x);

// contrib_moves.cc: ops that ONNX took over later, under the same name or another
void ExpandExpandDims(Expansion& x);
void ExpandGatherND(Expansion& x);
void ExpandPad(Expansion& x);
void ExpandRange(Expansion& x);
void ExpandTrilu(Expansion& x);
// The perm of a Transpose to [batch, channels, …] from [batch, …, channels], and back; rank ≥ 3.
std::vector<int64_t> ChannelsFirst(int rank);
std::vector<int64_t> ChannelsLast(int rank);

// contrib_norms.cc
void ExpandEmbedLayerNormalization(Expansion& x);
void ExpandGroupNorm(Expansion& x);
void ExpandQEmbedLayerNormalization(Expansion& x);
void ExpandSimplifiedLayerNormalization(Expansion& x);
void ExpandSkipGroupNorm(Expansion& x);
void ExpandSkipLayerNormalization(Expansion& x);
void ExpandSkipSimplifiedLayerNormalization(Expansion& x);

// contrib_attention.cc
void ExpandAttention(Expansion& x);
void ExpandMultiHeadAttention(Expansion& x);
void ExpandQAttention(Expansion& x);

// contrib_packed_attention.cc
void ExpandPackedAttention(Expansion& x);
void ExpandPackedMultiHeadAttention(Expansion& x);

// contrib_paged_attention.cc
void ExpandPagedAttention(Expansion& x);

// contrib_recurrent.cc
void ExpandDynamicQuantizeLSTM(Expansion& x);

// contrib_group_query.cc
void ExpandGroupQueryAttention(Expansion& x);

// contrib_rotary.cc
void ExpandRotaryEmbedding(Expansion& x);
// ONNX's op, of whose `spec` KnowsRotation: extents of heads and angles are numbers that fit.
bool KnowsRotation(const NodeSpec& spec);
void ExpandStandardRotaryEmbedding(Expansion& x);
// Turns pairs of channels of `v`, [batch, heads, length, channels] or with heads and length
// exchanged, by angles whose cosines and sines broadcast to it, without the last extent.
//   half  extent of the last axis of cosines and sines: the first 2 · half channels are turned
struct Rotation {
  Value *cosines, *sines;
  int64_t half;
  bool interleaved;  // a pair is two neighbours; otherwise `half` apart
};
Value& Rotated(Expansion& x, Value& v, const Rotation& rotation);

// contrib_quantized.cc
void ExpandDequantizeLinear(Expansion& x);
void ExpandQLinearAdd(Expansion& x);
void ExpandQLinearAveragePool(Expansion& x);
void ExpandQLinearConcat(Expansion& x);
void ExpandQLinearGlobalAveragePool(Expansion& x);
void ExpandQLinearLeakyRelu(Expansion& x);
void ExpandQLinearMul(Expansion& x);
void ExpandQLinearReduceMean(Expansion& x);
void ExpandQLinearSigmoid(Expansion& x);
void ExpandQLinearSoftmax(Expansion& x);
void ExpandQLinearWhere(Expansion& x);
void ExpandQuantizeLinear(Expansion& x);
// v in f32, with scale and zero point (nullptr: 0).
Value& Dequantized(Expansion& x, Value& v, Value& scale, Value* zero_point);
// Gives output 0: v as `dtype`, with scale and zero point (nullptr: 0).
void GiveQuantized(Expansion& x, Value& v, Value& scale, Value* zero_point, DType dtype);

// contrib_gather.cc
void ExpandGatherBlockQuantized(Expansion& x);

// contrib_quantized_products.cc
void ExpandDynamicQuantizeMatMul(Expansion& x);
void ExpandMatMulIntegerToFloat(Expansion& x);
void ExpandMatMulNBits(Expansion& x);
void ExpandQGemm(Expansion& x);
void ExpandQLinearConv(Expansion& x);
// An integer product in f32: (a - a_zero)·(b - b_zero) · a_scale · b_scale. Zero points may be
// nullptr.
struct IntegerProduct {
  Value *a, *b, *a_zero, *b_zero, *a_scale, *b_scale;
};
Value& Multiplied(Expansion& x, const IntegerProduct& product);

}  // namespace onnx_cudnn

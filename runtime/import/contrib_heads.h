// Parts that the attentions of com.microsoft share. Only contrib_*.cc include this.
#pragma once

#include "runtime/import/expansion.h"

namespace onnx_cudnn {

// [batch, length, heads · channels] as [batch, heads, length, channels].
Value& HeadsOf(Expansion& x, Value& v, int64_t heads);

// The factor of scores: attribute `scale`, or 1 / sqrt(channels) if it is 0.
double ScaleOf(Expansion& x, int64_t channels);

// q · kᵀ · scale, of heads, in f32.
Value& ScoresOf(Expansion& x, Value& q, Value& k, double scale);
// probabilities · v with heads merged to `hidden` channels, as output 0. Probabilities are in f32.
void GiveAttended(Expansion& x, Value& probabilities, Value& v, int64_t hidden);

// Masks of the scores of q and k, heads with the past before k.
struct MaskParts {
  Value *q, *k;
  Value* mask;   // nullptr, or i32: 1 where a key counts, in one of the forms of the op
  Value* bias;   // nullptr, or added to scores
  bool causal;   // queries are the last keys, and see none behind them
  float masked;  // added to scores of keys that do not count
};
// What is added to scores, f32 that broadcasts to them; nullptr: nothing.
Value* AddedToScores(Expansion& x, const MaskParts& parts);

}  // namespace onnx_cudnn

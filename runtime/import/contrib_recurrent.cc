// DynamicQuantizeLSTM: an LSTM with quantized weights.
#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

// Input `i`, one number by direction or one by direction and column, so that it broadcasts to
// [directions, rows, columns].
Value& ByColumn(Expansion& x, int i) {
  const int rank = x.Rank(x.in(i));
  if (rank != 1 && rank != 2) {
    x.FailInvalid(absl::StrCat("input ", i, " has rank ", rank, ", expected 1 or 2"));
    return x.in(i);
  }
  Value& wide = x.Cast(x.in(i), DType::kF32);
  return rank == 1 ? x.Unsqueeze(wide, {1, 2}) : x.Unsqueeze(wide, {1});
}

// The weights at input `i`, [directions, from, gates], in f32 and transposed as an LSTM takes them.
// Their scale is input `scale`, and their zero point the next one.
Value& GateWeights(Expansion& x, int i, int scale) {
  Value& moved = x.Sub(x.Cast(x.in(i), DType::kF32), ByColumn(x, scale + 1));
  return x.Transpose(x.Mul(moved, ByColumn(x, scale)), {0, 2, 1});
}

}  // namespace

// Nothing is rounded: onnxruntime rounds x as a whole and h in each step to 8 bits, and h in parts
// of the batch that depend on its number of threads.
void ExpandDynamicQuantizeLSTM(Expansion& x) {
  Attrs attrs = x.Take({"activation_alpha", "activation_beta", "activations", "clip", "direction",
                        "hidden_size", "input_forget"});
  std::vector<Value*> inputs = {&x.in(0), &GateWeights(x, 1, 8), &GateWeights(x, 2, 10)};
  for (int i = 3; i < 8; ++i) inputs.push_back(x.Optional(i));
  while (inputs.back() == nullptr) inputs.pop_back();
  const std::vector<Value*> outputs = x.Outputs("LSTM", std::move(inputs), std::move(attrs), 3);
  for (int i = 0; i < 3; ++i) x.Give(i, *outputs[i]);
}

}  // namespace onnx_cudnn

#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

const HostTensor kAbsent;
constexpr double kRounding = 1e-6;

Attrs Recurrent(Strings activations) {
  return {{"hidden_size", int64_t{1}}, {"activations", std::move(activations)}};
}
Attrs With(Attrs attrs, std::string_view name, Attribute value) {
  attrs.Set(name, std::move(value));
  return attrs;
}
HostTensor Cube(const std::vector<double>& values) {  // [1, n, 1]
  return F32({1, static_cast<int64_t>(values.size()), 1}, values);
}

std::vector<OpCase> RecurrentCases() {
  const HostTensor x = F32({2, 1, 1}, {1, 2}), w = Cube({1}), r = Cube({2});
  const Attrs relu = Recurrent({"Relu"}), lines = Recurrent({"Affine", "Affine"});
  const HostTensor gru_w = Cube({0.5, 2, 3}), gru_r = Cube({0, 0, 1}), four = Cube({4});
  const HostTensor bias = F32({1, 6}, {0, 0, 0, 0, 0, 1});
  const auto y = [](double value) { return F32({1, 1, 1, 1}, {value}); };
  return {
      {"RNN", {x, w, r, F32({1, 2}, {0.5, 0.5})}, relu, {F32({2, 1, 1, 1}, {2, 7}), Cube({7})}},
      {"RNN",
       {x, w, r},
       With(relu, "direction", std::string("reverse")),
       {F32({2, 1, 1, 1}, {5, 2}), Cube({5})}},
      {"RNN",  // batch first; the second sequence ends after a step; 3 is clipped to 2
       {F32({2, 2, 1}, {1, 3, 1, 3}), F32({2, 1, 1}, {1, 1}), F32({2, 1, 1}, {0, 0}), kAbsent,
        I32({2}, {2, 1})},
       With(With(With(Recurrent({"Relu", "Affine"}), "direction", std::string("bidirectional")),
                 "layout", int64_t{1}),
            "clip", 2.0f),
       {F32({2, 2, 2, 1}, {1, 1, 2, 2, 1, 1, 0, 0}), F32({2, 2, 1}, {2, 1, 1, 1})}},
      {"RNN", {x, w, r, kAbsent, I32({1}, {3})}, relu, {}, "a sequence length is 3"},
      {"GRU", {Cube({1}), gru_w, gru_r, bias, kAbsent, four}, lines, {y(8), Cube({8})}},
      {"GRU",
       {Cube({1}), gru_w, gru_r, bias, kAbsent, four},
       With(lines, "linear_before_reset", int64_t{1}),
       {y(8.5), Cube({8.5})}},
      {"LSTM",
       {Cube({1}), Cube({1, 2, 3, 4}), Cube({0, 0, 0, 0}), kAbsent, kAbsent, kAbsent, Cube({10}),
        F32({1, 3}, {1, 0, 2})},
       Recurrent({"Affine", "Affine", "Affine"}),
       {y(548), Cube({548}), Cube({274})}},
      {"LSTM",
       {Cube({0}), Cube({1, 1, 1, 1}), Cube({0, 0, 0, 0}), kAbsent, kAbsent, kAbsent, Cube({4})},
       {{"hidden_size", int64_t{1}}},
       {y(0.4820138), Cube({0.4820138}), Cube({2})},
       {},
       kRounding},
      {"LSTM",  // clip bounds what each activation reads, h of the cell too, and not the cell
       {Cube({0}), Cube({1, 1, 1, 1}), Cube({0, 0, 0, 0}), kAbsent, kAbsent, kAbsent, Cube({10})},
       With(Recurrent({"Sigmoid", "Tanh", "Affine"}), "clip", 2.0F),
       {y(1), Cube({1}), Cube({5})}},
      {"RNN",  // at its threshold of 1, and below
       {F32({2, 1, 1}, {1, 0.5}), w, Cube({0})},
       Recurrent({"ThresholdedRelu"}),
       {F32({2, 1, 1, 1}, {1, 0}), Cube({0})}},
      // After no step the state is the initial one.
      {"RNN", {Cube({1}), w, r, kAbsent, I32({1}, {0}), Cube({3})}, relu, {y(0), Cube({3})}},
      {"GRU", {Cube({1}), gru_w, gru_r, bias, I32({1}, {0}), four}, lines, {y(0), four}},
      {"LSTM",
       {Cube({0}), Cube({1, 1, 1, 1}), Cube({0, 0, 0, 0}), kAbsent, I32({1}, {0}), Cube({3}),
        Cube({4})},
       {{"hidden_size", int64_t{1}}},
       {y(0), Cube({3}), Cube({4})}},
  };
}

std::vector<OpCase> MoveCases() {
  const HostTensor cache = Cube({1, 2, 3}), rows = Cube({8, 9}),
                   table = F32({3, 2}, {0, 1, 2, 3, 4, 5});
  const Attrs circular = {{"mode", std::string("circular")}};
  return {
      {"ReverseSequence", {table, RowI({3, 2})}, {}, {F32({3, 2}, {4, 3, 2, 1, 0, 5})}},
      {"ReverseSequence",
       {table, RowI({2, 1, 2})},
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       {F32({3, 2}, {1, 0, 2, 3, 5, 4})}},
      {"ReverseSequence", {table, RowI({4, 2})}, {}, {}, "a sequence length is 4"},
      {"TensorScatter", {cache, rows, RowI({1})}, {}, {Cube({1, 8, 9})}},
      {"TensorScatter", {cache, rows}, {}, {Cube({8, 9, 3})}},
      {"TensorScatter", {cache, rows, RowI({2})}, circular, {Cube({9, 2, 8})}},
      {"TensorScatter", {cache, rows, RowI({2})}, {}, {}, "write index 2 for 2 rows"},
      {"CumProd",
       {Row({1, 2, 3, 4}), I64({}, {0})},
       {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
       {Row({24, 12, 4, 1})}},
      {"TfIdfVectorizer",  // 1 and 2 alone, then 1 2 side by side or with one between
       {I64({2, 3}, {1, 2, 1, 1, 3, 2})},
       {{"mode", std::string("TF")},
        {"min_gram_length", int64_t{1}},
        {"max_gram_length", int64_t{2}},
        {"max_skip_count", int64_t{1}},
        {"ngram_counts", std::vector<int64_t>{0, 2}},
        {"ngram_indexes", std::vector<int64_t>{0, 1, 2}},
        {"pool_int64s", std::vector<int64_t>{1, 2, 1, 2}}},
       {F32({2, 3}, {2, 1, 1, 1, 1, 1})}},
      {"BitCast", {I32({1}, {0x3f800000})}, {{"to", int64_t{1}}}, {Row({1})}},
  };
}

std::vector<OpCase> SpectrumCases() {
  const double h = 0.8660254;  // sin 60°
  const Attrs one_sided = {{"onesided", int64_t{1}}};
  const HostTensor ramp = Cube({1, 2, 3, 4}), half = F32({1, 3, 2}, {10, 0, -2, 2, -2, 0});
  const auto row = [](std::vector<HostTensor> inputs, Attrs attrs, HostTensor expected) {
    return OpCase{"DFT", std::move(inputs), std::move(attrs), {std::move(expected)}, {}, kRounding};
  };
  return {
      row({ramp}, {}, F32({1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2})),
      row({ramp}, one_sided, half),
      row({half}, {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}}, ramp),
      row({ramp, I64({}, {3})}, {}, F32({1, 3, 2}, {6, 0, -1.5, h, -1.5, -h})),
      row({Cube({0, 1}), I64({}, {6})}, {},
          F32({1, 6, 2}, {1, 0, 0.5, -h, -0.5, -h, -1, 0, -0.5, h, 0.5, h})),
      row({F32({2, 2}, {0, 4, 0, 0}), kAbsent, I64({}, {0})}, {{"inverse", int64_t{1}}},
          F32({2, 2}, {0, 2, 0, 2})),
      {"DFT", {ramp, I64({}, {0})}, {}, {}, "length 0"},
      {"STFT",
       {Cube({1, 2, 3}), I64({}, {1}), Row({1, 2})},
       one_sided,
       {F32({1, 2, 2, 2}, {5, 0, -3, 0, 8, 0, -4, 0})},
       {},
       kRounding},
      {"MelWeightMatrix",
       {I64({}, {1}), I64({}, {8}), I64({}, {8}), F32({}, {0}), F32({}, {4})},
       {},
       {F32({5, 1}, {0, 1, 0, 0, 0})}},
  };
}

}  // namespace

std::vector<OpCase> SequenceCases() { return Joined({RecurrentCases, MoveCases, SpectrumCases}); }

}  // namespace onnx_cudnn

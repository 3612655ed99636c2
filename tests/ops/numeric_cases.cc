#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

const HostTensor kAbsent;
constexpr double kRounding = 1e-6;  // of f32, over a few operations

HostTensor Four() { return F32({2, 2}, {1, 2, 3, 4}); }
Attrs Axis(int64_t axis) { return {{"axis", axis}}; }
// 34 × 34 pixels of each channel, half of them a + b, half a - b; a grows by `step` with each pair
// of channels and each image.
HostTensor TwoValues(int64_t channels, double a, double b, int64_t images = 1, double step = 0) {
  constexpr int64_t kSide = 34, kPixels = kSide * kSide;
  std::vector<double> values(images * channels * kPixels);
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const int64_t channel = i / kPixels % channels, image = i / (channels * kPixels);
    const double center = a + step * static_cast<double>(channel / 2 + image);
    values[i] = i % 2 == 0 ? center + b : center - b;
  }
  return TensorOf(DType::kF32, {images, channels, kSide, kSide}, values);
}
// 6 × 6 pixels of eight channels c, half of them a + b + c · step, half a - b + c · step.
HostTensor EightSmallPlanes(double a, double b, double step) {
  constexpr int64_t kChannels = 8, kSide = 6, kPixels = kSide * kSide;
  std::vector<double> values(kChannels * kPixels);
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    values[i] = a + (i % 2 == 0 ? b : -b) + step * static_cast<double>(i / kPixels);
  }
  return TensorOf(DType::kF32, {1, kChannels, kSide, kSide}, values);
}
HostTensor LongRow(double first, double rest) {
  std::vector<double> values(40000, rest);
  values[0] = first;
  return Row(values);
}
Attrs Kernel(Ints kernel) { return {{"kernel_shape", std::move(kernel)}}; }

std::vector<OpCase> ProductCases() {
  const HostTensor image = F32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const HostTensor filter = F32({1, 1, 2, 2}, {1, 10, 100, 1000});
  return {
      {"Conv", {image, filter}, {}, {F32({1, 1, 2, 2}, {5421, 6532, 8754, 9865})}},
      {"Conv",
       {image, filter, Row({0.5})},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}},
       {F32({1, 1, 2, 2}, {1000.5, 3200.5, 7040.5, 9865.5})}},
      {"Conv",
       {F32({1, 2, 2}, {1, 2, 3, 4}), F32({2, 1, 1}, {10, 100})},
       {{"group", int64_t{2}}},
       {F32({1, 2, 2}, {10, 20, 300, 400})}},
      {"ConvTranspose",
       {F32({1, 1, 2}, {1, 2}), F32({1, 1, 2}, {1, 10}), Row({0.5})},
       {},
       {F32({1, 1, 3}, {1.5, 12.5, 20.5})}},
      {"MatMul", {Four(), Row({1, 10})}, {}, {Row({21, 43})}},
      {"MatMul",
       {Four(), F32({2, 1, 2, 1}, {1, 10, 2, 20})},
       {},
       {F32({2, 1, 2, 1}, {21, 43, 42, 86})}},
      {"Gemm",
       {Four(), Four(), Row({1, 2})},
       {{"transB", int64_t{1}}, {"alpha", 2.0f}, {"beta", -1.0f}},
       {F32({2, 2}, {9, 20, 21, 48})}},
      {"Gemm",  // rows of 16 bytes
       {F32({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}),
        F32({2, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, -1}), Row({0.5, 1})},
       {{"transB", int64_t{1}}},
       {F32({1, 2}, {36.5, -4})}},
  };
}

std::vector<OpCase> EinsumCases() {
  const HostTensor a = F32({2, 2}, {1, 2, 3, 4}), b = F32({2, 1}, {1, 10});
  const auto row = [](const char* equation, std::vector<HostTensor> inputs, HostTensor expected) {
    return OpCase{
        "Einsum", std::move(inputs), {{"equation", std::string(equation)}}, {std::move(expected)}};
  };
  return {
      row("ij,jk->ik", {a, b}, F32({2, 1}, {21, 43})),
      row("ij,jk", {a, b}, F32({2, 1}, {21, 43})),
      row("ii", {a}, F32({}, {5})),
      row("ii->i", {a}, Row({1, 4})),
      row("ij->ji", {I32({1, 2}, {5, 7})}, I32({2, 1}, {5, 7})),
      row("...i,...i->...", {a, F32({1, 2}, {1, 10})}, Row({21, 43})),
      {"Det", {F32({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0})}, {}, {Row({-2, -1})}, {}, 1e-6},
      {"Det", {F32({3, 3}, {0, 0, 2, 4, 0, 1, 1, 1, 0})}, {}, {F32({}, {8})}, {}, 1e-6},
      {"Det", {F32({2, 2, 2}, {1, 2, 2, 4, 0, 0, 0, 3})}, {}, {Row({0, 0})}},  // singular
      row("i,j,k->", {Row({1, 2}), Row({3, 4}), Row({5})}, F32({}, {105})),
  };
}

std::vector<OpCase> PoolCases() {
  const HostTensor line = F32({1, 1, 4}, {1, 4, 2, 3}), planes = F32({1, 2, 2}, {3, 4, -1, 0});
  const HostTensor wide = F32({1, 1, 2, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const Attrs same = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}};
  return {
      {"MaxPool", {line}, Kernel({2}), {F32({1, 1, 3}, {4, 4, 3}), I64({1, 1, 3}, {1, 1, 3})}},
      {"MaxPool",
       {line},
       {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}},
       {F32({1, 1, 2}, {2, 4}), I64({1, 1, 2}, {2, 1})}},
      {"MaxPool",  // of equal numbers the first
       {F32({1, 1, 3}, {4, 4, 1})},
       Kernel({2}),
       {F32({1, 1, 2}, {4, 4}), I64({1, 1, 2}, {0, 1})}},
      {"AveragePool",
       {line},
       {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}},
       {F32({1, 1, 2}, {7 / 3.0, 2.5})},
       {},
       kRounding},
      {"MaxPool",  // its window ends behind the input
       {F32({1, 1, 2}, {4, 1})},
       {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}},
       {F32({1, 1, 1}, {4})}},
      {"AveragePool",
       {F32({1, 1, 2}, {4, 1})},
       {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}},
       {F32({1, 1, 1}, {2.5})}},
      {"MaxPool",
       {wide},
       same,
       {F32({1, 1, 2, 8}, {9, 10, 11, 12, 13, 14, 15, 15, 9, 10, 11, 12, 13, 14, 15, 15})}},
      {"MaxPool",
       {wide},
       {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       {F32({1, 1, 1, 4}, {9, 11, 13, 15})}},
      {"AveragePool",
       {wide},
       same,
       {F32({1, 1, 2, 8}, {4.5, 5, 6, 7, 8, 9, 10, 10.5, 4.5, 5, 6, 7, 8, 9, 10, 10.5})},
       {},
       kRounding},
      {"LpPool", {planes}, Kernel({2}), {F32({1, 2, 1}, {5, 1})}, {}, kRounding},
      {"GlobalAveragePool", {planes}, {}, {F32({1, 2, 1}, {3.5, -0.5})}},
      {"GlobalMaxPool", {planes}, {}, {F32({1, 2, 1}, {4, 0})}},
      {"GlobalLpPool", {planes}, {}, {F32({1, 2, 1}, {5, 1})}, {}, kRounding},
  };
}

std::vector<OpCase> NormalizationCases() {
  const HostTensor pair = F32({1, 1, 2}, {1, 3}), two = Row({2}), five = Row({5});
  const Attrs exact = {{"epsilon", 0.0f}};
  const HostTensor normal = F32({1, 1, 2}, {3, 7});
  return {
      {"BatchNormalization",
       {pair, two, five, Row({1}), Row({4})},
       exact,
       {F32({1, 1, 2}, {5, 7})},
       {},
       kRounding},
      {"BatchNormalization",  // 2 / sqrt(1 + 3)
       {pair, two, five, Row({1}), Row({1})},
       {{"epsilon", 3.0f}},
       {F32({1, 1, 2}, {5, 7})},
       {},
       kRounding},
      {"InstanceNormalization", {pair, two, five}, exact, {normal}, {}, kRounding},
      {"GroupNormalization",
       {pair, two, five},
       {{"epsilon", 0.0f}, {"num_groups", int64_t{1}}},
       {normal},
       {},
       kRounding},
      {"LayerNormalization",
       {pair, two, five},
       exact,
       {normal, F32({1, 1, 1}, {2}), F32({1, 1, 1}, {1})},
       {},
       kRounding},
      {"RMSNormalization", {Row({1, 7}), two}, exact, {Row({0.4, 2.8})}, {}, kRounding},
      {"MeanVarianceNormalization",
       {Row({1, 3})},
       {{"axes", Ints{0}}},
       {Row({-1, 1})},
       {},
       kRounding},
      {"LpNormalization", {Row({3, -4})}, {}, {Row({0.6, -0.8})}, {}, kRounding},
      {"LRN",
       {F32({1, 2, 1, 1}, {1, 2})},
       {{"size", int64_t{2}}, {"alpha", 2.0f}, {"beta", 1.0f}},
       {F32({1, 2, 1, 1}, {1 / 6.0, 0.4})},
       {},
       kRounding},
      {"Softmax",
       {Four()},
       Axis(0),
       {F32({2, 2}, {0.1192029, 0.1192029, 0.8807971, 0.8807971})},
       {},
       kRounding},
      {"LogSoftmax", {Row({1, 3})}, {}, {Row({-2.1269280, -0.1269280})}, {}, kRounding},
      {"LogSoftmax",  // a row that a block reads twice; log(1 + 39999 / e^10) is 1.0353003
       {LongRow(10, 0)},
       {},
       {LongRow(-1.0353003, -11.0353003)},
       {},
       kRounding},
      {"Hardmax", {Row({1, 3, 3})}, {}, {Row({0, 1, 0})}},
  };
}

// Planes that take more than one block of a kernel, or share one block.
std::vector<OpCase> PlaneNormalizationCases() {
  const Attrs exact = {{"epsilon", 0.0f}};
  return {
      {"InstanceNormalization",  // channels of other means, which one block holds
       {EightSmallPlanes(3, 0.5, 1), Row(std::vector<double>(8, 2)),
        Row(std::vector<double>(8, 5))},
       exact,
       {EightSmallPlanes(5, 2, 0)},
       {},
       kRounding},
      {"InstanceNormalization",  // more pixels than a block holds
       {TwoValues(8, 3, 0.5), Row(std::vector<double>(8, 2)), Row(std::vector<double>(8, 5))},
       exact,
       {TwoValues(8, 5, 2)},
       {},
       kRounding},
      {"InstanceNormalization",  // and padded channels
       {TwoValues(5, 3, 0.5), Row(std::vector<double>(5, 2)), Row(std::vector<double>(5, 5))},
       exact,
       {TwoValues(5, 5, 2)},
       {},
       kRounding},
      {"InstanceNormalization",  // and several images
       {TwoValues(8, 3, 0.5, 4, 1), Row(std::vector<double>(8, 2)), Row(std::vector<double>(8, 5))},
       exact,
       {TwoValues(8, 5, 2, 4)},
       {},
       kRounding},
      {"GroupNormalization",  // the same, of two channels at once
       {TwoValues(36, 3, 0.5, 2, 1), Row(std::vector<double>(36, 2)),
        Row(std::vector<double>(36, 5))},
       {{"epsilon", 0.0f}, {"num_groups", int64_t{18}}},
       {TwoValues(36, 5, 2, 2)},
       {},
       kRounding},
      {"MeanVarianceNormalization",  // over several images
       {TwoValues(8, 3, 0.5, 2)},
       {},
       {TwoValues(8, 0, 1, 2)},
       {},
       kRounding},
      {"MeanVarianceNormalization",  // and in large parts
       {TwoValues(17, 3, 0.5, 14)},
       {},
       {TwoValues(17, 0, 1, 14)},
       {},
       kRounding},
  };
}

// Heads of 8 channels, the last of which are zeros.
HostTensor Head(const std::vector<std::pair<double, double>>& rows) {
  constexpr int64_t kChannels = 8;
  std::vector<double> values(rows.size() * kChannels, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    values[i * kChannels] = rows[i].first;
    values[i * kChannels + 1] = rows[i].second;
  }
  return TensorOf(DType::kF16, {1, 1, static_cast<int64_t>(rows.size()), kChannels}, values);
}

// The score ln 3 = 1.0986 weighs a key three times as much as the score 0.
std::vector<OpCase> AttentionCases() {
  constexpr double kLn3 = 1.0986123, kHalfRounding = 2e-3;
  const HostTensor v = Head({{4, 8}, {8, 0}});
  return {
      {"Attention",
       {Head({{2, 0}, {0, 1}}), Head({{kLn3, 5}, {0, 5}}), v},
       {{"scale", 0.5F}},
       {Head({{5, 6}, {6, 4}})},
       {},
       kHalfRounding},
      {"Attention",  // a query without keys gives zeros
       {Head({{1, 1}, {1, 1}, {1, 1}}), Head({{0, 0}, {0, 0}}), v,
        F32({3, 2}, {kLn3, 0, -kInf, -kInf, 0, -kInf})},
       {},
       {Head({{5, 6}, {0, 0}, {4, 8}})},
       {},
       kHalfRounding},
      {"Attention",  // the last key does not count
       {Head({{2, 0}, {0, 1}}), Head({{kLn3, 5}, {0, 5}, {9, 9}}), Head({{4, 8}, {8, 0}, {16, 1}}),
        HostTensor(), HostTensor(), HostTensor(), I64({1}, {2})},
       {{"scale", 0.5F}},
       {Head({{5, 6}, {6, 4}})},
       {},
       kHalfRounding},
  };
}

std::vector<OpCase> ReductionCases() {
  const HostTensor axes = RowI({-1});
  const auto row = [&](const char* op, const std::vector<double>& expected) {
    return OpCase{op, {Four(), axes}, {}, {F32({2, 1}, expected)}, {}, kRounding};
  };
  return {
      row("ReduceSum", {3, 7}),
      row("ReduceMean", {1.5, 3.5}),
      row("ReduceMax", {2, 4}),
      row("ReduceMin", {1, 3}),
      row("ReduceProd", {2, 12}),
      row("ReduceL1", {3, 7}),
      row("ReduceL2", {2.2360680, 5}),
      row("ReduceSumSquare", {5, 25}),
      row("ReduceLogSum", {1.0986123, 1.9459101}),
      row("ReduceLogSumExp", {2.3132617, 4.3132617}),
      {"ReduceMax",
       {I32({2, 2}, {1, 5, 7, 2}), RowI({0})},
       {{"keepdims", int64_t{0}}},
       {I32({2}, {7, 5})}},
      {"ArgMax", {Four()}, Axis(1), {I64({2, 1}, {1, 1})}},
      {"ArgMin", {Four()}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}, {RowI({0, 0})}},
      {"TopK", {Row({2, 9, 5}), RowI({2})}, {}, {Row({9, 5}), RowI({1, 2})}},
      {"TopK", {Row({-0.0, 0}), RowI({1})}, {}, {Row({-0.0}), RowI({0})}},  // equal numbers
  };
}

std::vector<OpCase> ResizeCases() {
  return {
      {"Resize", {Four(), kAbsent, Row({1, 2})}, {}, {F32({2, 4}, {1, 1, 2, 2, 3, 3, 4, 4})}},
      {"Resize",
       {Row({0, 4}), kAbsent, kAbsent, RowI({4})},
       {{"mode", std::string("linear")}},
       {Row({0, 1, 3, 4})},
       {},
       kRounding},
      {"Resize",
       {Row({0, 3}), kAbsent, kAbsent, RowI({6})},
       {{"mode", std::string("linear")}},
       {Row({0, 0, 1, 2, 3, 3})},
       {},
       kRounding},
      {"Resize",
       {Row({0, 1, 2, 3, 4}), kAbsent, Row({0.5})},
       {{"coordinate_transformation_mode", std::string("half_pixel_symmetric")},
        {"nearest_mode", std::string("floor")}},
       {Row({1, 3})}},
      {"Resize",
       {Row({0, 1, 2, 3}), kAbsent, Row({0.5})},
       {{"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")},
        {"nearest_mode", std::string("floor")}},
       {Row({1, 3})}},
      {"Resize",  // 15 / 11 * 11 is more than 15
       {Row({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), Row({0, 1}), kAbsent, RowI({15})},
       {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
        {"nearest_mode", std::string("floor")},
        {"extrapolation_value", -1.0F}},
       {Row({0, 0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 7, 8, 9, 10})}},
      {"Resize",
       {U8({2}, {1, 2}), Row({0, 2}), kAbsent, RowI({3})},
       {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
        {"extrapolation_value", 300.0F}},
       {U8({3}, {1, 2, 255})}},
  };
}

}  // namespace

// The largest element of each column is in another row; a pivot of 0 is divided by.
std::vector<OpCase> ContribCases() {
  const auto row = [](Dims dims, const std::vector<double>& x, const std::vector<double>& y) {
    return OpCase{.op = "Inverse",
                  .inputs = {F32(dims, x)},
                  .expected = {F32(dims, y)},
                  .tolerance = 1e-6,
                  .domain = "com.microsoft"};
  };
  return {row({2, 1, 2, 2}, {1, 2, 3, 4, 0, 2, 4, 0}, {-2, 1, 1.5, -0.5, 0, 0.25, 0.5, 0}),
          row({3, 3}, {0, 0, 2, 4, 0, 1, 1, 1, 0}, {-0.125, 0.25, 0, 0.125, -0.25, 1, 0.5, 0, 0}),
          row({2, 2}, {1, 2, 2, 4}, {-kInf, kInf, kInf, -kInf}), row({1, 1}, {0}, {kInf})};
}

std::vector<OpCase> NumericCases() {
  return Joined({ProductCases, AttentionCases, EinsumCases, PoolCases, NormalizationCases,
                 PlaneNormalizationCases, ReductionCases, ResizeCases});
}

}  // namespace onnx_cudnn

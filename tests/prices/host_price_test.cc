// The price that `host` predicts for a Node against the time of its reference on this machine:
// within a factor of ten. Timing on a shared machine is noisy, so this is not a unit test: ctest -L
// bench runs it.
#include <chrono>
#include <cmath>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/inferred_node.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

HostTensor Numbers(Dims dims, DType dtype = DType::kF32) {
  std::vector<double> values = Pattern(ElementsOf(dims), 7);
  if (kIntegerTypes.Has(dtype)) {
    for (double& v : values) v = std::floor(std::abs(v) * 8);
  }
  return TensorOf(dtype, std::move(dims), values);
}
HostTensor RowOf(const std::vector<double>& values, DType dtype = DType::kI64) {
  return TensorOf(dtype, {static_cast<int64_t>(values.size())}, values);
}
HostTensor Scalar(double value, DType dtype = DType::kI64) { return TensorOf(dtype, {}, {value}); }

// `count` boxes over most of the image, in the form of RoiAlign or (with the image index)
// MaxRoiPool.
HostTensor Boxes(int64_t count, double side, bool with_image) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    if (with_image) values.push_back(0);
    for (double v : {0.1 * side, 0.1 * side, 0.7 * side, 0.7 * side}) values.push_back(v);
  }
  return TensorOf(DType::kF32, {count, with_image ? 5 : 4}, values);
}

OpRun InverseOf(Dims dims) {
  return {
      .op = "Inverse", .inputs = {Numbers(std::move(dims))}, .domain = "com.microsoft", .opset = 1};
}

struct Sized {
  std::string name;
  OpRun run;
};

std::vector<Sized> Products(int64_t n) {
  const Attrs chain = {{"equation", std::string("ij,jk,kl->il")}};
  const Attrs heads = {{"equation", std::string("bqhd,bkhd->bhqk")}};
  const HostTensor image = Numbers({1, 32, n / 8, n / 8}), filters = Numbers({64, 32, 3, 3});
  const HostTensor bytes = Numbers({n, n}, DType::kU8);
  const HostTensor attended = Numbers({1, 8, n / 2, 64}, DType::kF16);
  return {
      {"MatMul f32", {"MatMul", {Numbers({n, n}), Numbers({n, n})}}},
      {"MatMul f64", {"MatMul", {Numbers({n, n}, DType::kF64), Numbers({n, n}, DType::kF64)}}},
      {"MatMul i32",
       {"MatMul", {Numbers({n / 2, n / 2}, DType::kI32), Numbers({n / 2, n / 2}, DType::kI32)}}},
      {"Gemm one row", {"Gemm", {Numbers({1, 4 * n}), Numbers({4 * n, n})}}},
      {"MatMulInteger", {"MatMulInteger", {bytes, bytes}}},
      {"Conv", {"Conv", {image, filters}}},
      {"Conv depthwise", {"Conv", {image, Numbers({32, 1, 3, 3})}, {{"group", int64_t{32}}}}},
      {"ConvTranspose", {"ConvTranspose", {image, Numbers({32, 64, 3, 3})}}},
      {"ConvInteger",
       {"ConvInteger",
        {Numbers({1, 32, n / 8, n / 8}, DType::kU8), Numbers({64, 32, 3, 3}, DType::kU8)}}},
      {"DeformConv", {"DeformConv", {image, filters, Numbers({1, 18, n / 8 - 2, n / 8 - 2})}, {}}},
      {"Einsum chain", {"Einsum", {Numbers({n, n}), Numbers({n, n}), Numbers({n, n})}, chain}},
      {"Einsum heads", {"Einsum", {Numbers({2, n / 4, 8, 64}), Numbers({2, n / 4, 8, 64})}, heads}},
      {"Attention", {"Attention", {attended, attended, attended}}},
      {"Einsum i32",
       {"Einsum",
        {Numbers({n / 2, n / 2}, DType::kI32), Numbers({n / 2, n / 2}, DType::kI32)},
        {{"equation", std::string("ij,kj->ik")}}}},
  };
}

std::vector<Sized> Sequences(int64_t n) {
  const auto recurrent = [&](const char* op, int64_t gates) {
    return Sized{
        op,
        {op,
         {Numbers({n / 4, 4, 64}), Numbers({1, gates * 64, 64}), Numbers({1, gates * 64, 64})},
         {{"hidden_size", int64_t{64}}},
         2}};
  };
  return {
      recurrent("RNN", 1),
      recurrent("GRU", 3),
      recurrent("LSTM", 4),
      {"CumSum", {"CumSum", {Numbers({n, n}), Scalar(0)}}},
      {"CumProd", {"CumProd", {Numbers({n, n}), Scalar(1)}}},
      {"DFT", {"DFT", {Numbers({64, n, 2}), HostTensor(), Scalar(1)}}},
      {"DFT of a prime", {"DFT", {Numbers({8, n + 1, 2}), HostTensor(), Scalar(1)}}},
      {"STFT",
       {"STFT",
        {Numbers({1, 16 * n, 1}), Scalar(128), Numbers({512})},
        {{"onesided", int64_t{1}}}}},
      {"TfIdfVectorizer",
       {"TfIdfVectorizer",
        {Numbers({n, 64}, DType::kI64)},
        {{"mode", std::string("TF")},
         {"min_gram_length", int64_t{1}},
         {"max_gram_length", int64_t{2}},
         {"max_skip_count", int64_t{3}},
         {"ngram_counts", Ints{0, 4}},
         {"ngram_indexes", Ints{0, 1, 2, 3, 4, 5}},
         {"pool_int64s", Ints{1, 2, 3, 4, 1, 2, 3, 4}}}}},
      {"ReverseSequence",
       {"ReverseSequence",
        {Numbers({n, 8, 64}), RowOf(std::vector<double>(8, static_cast<double>(n)))}}},
  };
}

std::vector<Sized> Samplers(int64_t n) {
  const int64_t side = n / 4;
  const HostTensor image = Numbers({1, 16, side, side});
  const auto resize = [&](const char* mode, double scale) {
    return OpRun{"Resize",
                 {image, HostTensor(), TensorOf(DType::kF32, {4}, {1, 1, scale, scale})},
                 {{"mode", std::string(mode)}}};
  };
  const Attrs pooled = {{"pooled_shape", Ints{7, 7}}};
  const Attrs aligned = {{"output_height", int64_t{7}}, {"output_width", int64_t{7}}};
  Attrs sampled = aligned;
  sampled.Set("sampling_ratio", int64_t{2});
  const auto grid = [&](const char* mode) {
    return OpRun{"GridSample", {image, Numbers({1, side, side, 2})}, {{"mode", std::string(mode)}}};
  };
  const auto pool = [&](const char* op, int64_t k, int outputs = 1) {
    return OpRun{op, {image}, {{"kernel_shape", Ints{k, k}}}, outputs};
  };
  return {
      {"GridSample linear", grid("linear")},
      {"GridSample cubic", grid("cubic")},
      {"GridSample nearest", grid("nearest")},
      {"Resize linear", resize("linear", 2)},
      {"Resize cubic", resize("cubic", 2)},
      {"Resize nearest", resize("nearest", 2)},
      {"MaxPool 3", pool("MaxPool", 3)},
      {"MaxPool 9", pool("MaxPool", 9)},
      {"MaxPool with indices", pool("MaxPool", 3, 2)},
      {"AveragePool", pool("AveragePool", 5)},
      {"LpPool", pool("LpPool", 3)},
      {"LRN", {"LRN", {image}, {{"size", int64_t{5}}}}},
      {"RoiAlign",
       {"RoiAlign",
        {image, Boxes(64, static_cast<double>(side), false), RowOf(std::vector<double>(64, 0))},
        aligned}},
      {"RoiAlign of 2 x 2",
       {"RoiAlign",
        {image, Boxes(64, static_cast<double>(side), false), RowOf(std::vector<double>(64, 0))},
        sampled}},
      {"MaxRoiPool", {"MaxRoiPool", {image, Boxes(64, static_cast<double>(side), true)}, pooled}},
      {"Col2Im",
       {"Col2Im",
        {Numbers({1, 16 * 9, (side - 2) * (side - 2)}),
         RowOf({static_cast<double>(side), static_cast<double>(side)}), RowOf({3, 3})}}},
  };
}

std::vector<Sized> Elements(int64_t n) {
  const HostTensor x = Numbers({n, n}), whole = Numbers({n, n}, DType::kI32);
  const HostTensor rows = RowOf(std::vector<double>(n / 2, 3));
  const HostTensor image = Numbers({1, 16, n / 4, n / 4}), channels = Numbers({16});
  const HostTensor scale = Scalar(0.1, DType::kF32);
  std::vector<double> many(n * n, 3);
  return {
      {"Add", {"Add", {x, x}}},
      {"Exp", {"Exp", {x}}},
      {"RandomUniform", {"RandomUniform", {}, {{"shape", Ints{n, n}}}}},
      {"RandomNormal", {"RandomNormal", {}, {{"shape", Ints{n, n}}}}},
      {"Bernoulli", {"Bernoulli", {x}}},
      {"Multinomial", {"Multinomial", {x}, {{"sample_size", n}}}},
      {"Dropout in training", {"Dropout", {x, HostTensor(), TensorOf(DType::kBool, {}, {1})}}},
      {"Erf", {"Erf", {x}}},
      {"Gelu", {"Gelu", {x}}},
      {"Sin", {"Sin", {x}}},
      {"Pow", {"Pow", {x, x}}},
      {"Mod", {"Mod", {whole, Numbers({1}, DType::kI32)}}},
      {"Cast", {"Cast", {x}, {{"to", int64_t{10}}}}},
      {"Cast to integers", {"Cast", {x}, {{"to", int64_t{3}}}}},
      {"QuantizeLinear", {"QuantizeLinear", {x, scale, Scalar(3, DType::kU8)}}},
      {"DequantizeLinear", {"DequantizeLinear", {Numbers({n, n}, DType::kU8), scale}}},
      {"DynamicQuantizeLinear", {"DynamicQuantizeLinear", {x}, {}, 3}},
      {"Softmax", {"Softmax", {x}}},
      {"ReduceSum", {"ReduceSum", {x, RowOf({1})}}},
      {"ReduceSum of columns", {"ReduceSum", {x, RowOf({0})}}},
      {"ReduceLogSumExp", {"ReduceLogSumExp", {x, RowOf({1})}}},
      {"ArgMax", {"ArgMax", {x}, {{"axis", int64_t{1}}}}},
      {"LayerNormalization", {"LayerNormalization", {x, Numbers({n})}}},
      {"InstanceNormalization", {"InstanceNormalization", {image, channels, channels}}},
      {"BatchNormalization",
       {"BatchNormalization",
        {image, channels, channels, channels, RowOf(std::vector<double>(16, 1), DType::kF32)}}},
      {"GlobalAveragePool", {"GlobalAveragePool", {image}}},
      {"Transpose", {"Transpose", {x}}},
      {"Concat", {"Concat", {x, x}, {{"axis", int64_t{1}}}}},
      {"Slice",
       {"Slice", {x, RowOf({0}), RowOf({static_cast<double>(n)}), RowOf({1}), RowOf({3})}}},
      {"Slice of one row", {"Slice", {x, RowOf({3}), RowOf({4}), RowOf({0})}}},
      {"Pad", {"Pad", {x, RowOf({3, 3, 3, 3})}}},
      {"Gather", {"Gather", {x, rows}}},
      {"Gather of one row", {"Gather", {x, RowOf({3})}}},
      {"Gather of columns", {"Gather", {x, rows}, {{"axis", int64_t{1}}}}},
      {"GatherElements", {"GatherElements", {x, TensorOf(DType::kI64, {n, n}, many)}}},
      {"GatherND", {"GatherND", {x, TensorOf(DType::kI64, {n * n / 2, 2}, many)}}},
      {"ScatterElements", {"ScatterElements", {x, TensorOf(DType::kI64, {n, n}, many), x}}},
      {"ScatterND",
       {"ScatterND", {x, TensorOf(DType::kI64, {n * n / 2, 2}, many), Numbers({n * n / 2})}}},
      {"OneHot", {"OneHot", {rows, Scalar(64), RowOf({0, 1}, DType::kF32)}}},
      {"Tile", {"Tile", {x, RowOf({2, 2})}}},
      {"Expand", {"Expand", {Numbers({1, n}), RowOf({static_cast<double>(n), 1})}}},
      {"Trilu", {"Trilu", {x}}},
      {"Where", {"Where", {Numbers({n, n}, DType::kBool), x, x}}},
  };
}

std::vector<Sized> Selections(int64_t n) {
  return {
      {"TopK of 5", {"TopK", {Numbers({64, n}), RowOf({5})}, {}, 2}},
      {"TopK of all", {"TopK", {Numbers({64, n}), RowOf({static_cast<double>(n)})}, {}, 2}},
      {"Det", {"Det", {Numbers({n / 2, n / 2})}}},
      {"Det of many", {"Det", {Numbers({n * n / 9, 3, 3})}}},
      {"Inverse", InverseOf({n / 2, n / 2})},
      {"Inverse of many", InverseOf({n * n / 9, 3, 3})},
      {"MelWeightMatrix",
       {"MelWeightMatrix",
        {Scalar(80), Scalar(static_cast<double>(8 * n)), Scalar(16000), Scalar(0, DType::kF32),
         Scalar(8000, DType::kF32)}}},
      {"MaxUnpool",
       {"MaxUnpool",
        {Numbers({1, 1, n, n}), Numbers({1, 1, n, n}, DType::kI64)},
        {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}}},
  };
}

struct Timed {
  double predicted_us, measured_us;
};

// The minimum of several runs, measured for at least 20 ms.
Timed Time(const OpRun& run) {
  const InferredNode inferred(run);
  const Node& node = *inferred.node;
  std::vector<TensorRef> in;
  for (const HostTensor& t : run.inputs) in.push_back({t.dtype(), t.dims(), t.raw()});
  std::vector<HostTensor> results;
  std::vector<MutableTensorRef> out;
  for (const Value* v : node.outputs()) {
    CHECK(v->is_static()) << run.op;
    results.push_back(HostTensor::Allocate(v->dtype(), v->dims()));
    out.push_back({v->dtype(), results.back().dims(), results.back().mutable_raw()});
  }
  const OpDef* op = FindOp(node);
  HostTensor workspace =
      HostTensor::Allocate(DType::kU8, {op->workspace == nullptr ? 0 : op->workspace(node)});
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  Timed timed = {RowMajorCandidate(*host, node, Space::kDevice, {}).cost.us, 1e30};
  double total_us = 0;
  for (int i = 0; i < 3 || total_us < 20e3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const absl::Status status =
        EvaluateNode({node, in, out, workspace.mutable_raw(), ThreadPool::Default()});
    CHECK_OK(status);
    const double us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    timed.measured_us = std::min(timed.measured_us, us);
    total_us += us;
  }
  return timed;
}

void ExpectPrices(std::vector<Sized> (*cases)(int64_t)) {
  constexpr double kFactor = 10;
  absl::PrintF("%-28s %6s %12s %12s %8s\n", "", "size", "predicted us", "measured us", "ratio");
  for (int64_t n : {256, 1024}) {
    for (const Sized& c : cases(n)) {
      const Timed t = Time(c.run);
      const double ratio = t.predicted_us / t.measured_us;
      absl::PrintF("%-28s %6d %12.1f %12.1f %8.2f\n", c.name, n, t.predicted_us, t.measured_us,
                   ratio);
      EXPECT_LT(ratio, kFactor) << c.name << " at " << n;
      EXPECT_GT(ratio, 1 / kFactor) << c.name << " at " << n;
    }
  }
}

TEST(HostPriceTest, OfProducts) { ExpectPrices(Products); }
TEST(HostPriceTest, OfSequences) { ExpectPrices(Sequences); }
TEST(HostPriceTest, OfSamplers) { ExpectPrices(Samplers); }
TEST(HostPriceTest, OfElements) { ExpectPrices(Elements); }
TEST(HostPriceTest, OfSelections) { ExpectPrices(Selections); }

}  // namespace
}  // namespace onnx_cudnn

// The cost of references, compared with the multiplications in the definitions of their ops.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/ops/op_table.h"
#include "tests/ops/inferred_node.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

HostTensor Zeros(Dims dims, DType dtype = DType::kF32) {
  const std::vector<double> values(ElementsOf(dims), 0);
  return TensorOf(dtype, std::move(dims), values);
}
HostTensor List(const std::vector<double>& values) {
  return TensorOf(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}
HostTensor Scalar(double value) { return TensorOf(DType::kI64, {}, {value}); }
HostTensor Bytes(Dims dims) { return Zeros(std::move(dims), DType::kU8); }

Cost CostOfRun(const OpRun& run) { return CostOf(*InferredNode(run).node); }

OpRun Einsum(const char* equation, std::vector<HostTensor> inputs) {
  return {"Einsum", std::move(inputs), {{"equation", std::string(equation)}}};
}

// An op at size n, and how many multiplications (or comparisons, or additions) its definition
// takes.
struct Growing {
  const char* name;
  OpRun (*run)(int64_t n);
  double (*multiplications)(int64_t n);
};

double Square(int64_t n) { return std::pow(static_cast<double>(n), 2); }
double Cube(int64_t n) { return std::pow(static_cast<double>(n), 3); }
double Linear(int64_t n) { return static_cast<double>(n); }

// The fewest multiplications per output by Cooley and Tukey's recursion, for complex numbers.
double OfPowerOfTwo(int64_t n) { return 4 * 2 * Linear(n) * std::log2(n); }

const Growing kGrowing[] = {
    {"MatMul",
     [](int64_t n) -> OpRun {
       return {"MatMul", {Zeros({n, n}), Zeros({n, n})}};
     },
     Cube},
    {"Gemm",
     [](int64_t n) -> OpRun {
       return {"Gemm", {Zeros({n, n}), Zeros({n, n})}};
     },
     Cube},
    {"MatMulInteger",
     [](int64_t n) -> OpRun {
       return {"MatMulInteger", {Bytes({n, n}), Bytes({n, n})}};
     },
     Cube},
    {"Einsum of three",
     [](int64_t n) {
       return Einsum("ij,jk,kl->il", {Zeros({n, n}), Zeros({n, n}), Zeros({n, n})});
     },
     [](int64_t n) { return 2 * Cube(n); }},
    {"Einsum of heads",
     [](int64_t n) {
       return Einsum("bqhd,bkhd->bhqk", {Zeros({2, n, 4, 16}), Zeros({2, n, 4, 16})});
     },
     [](int64_t n) { return 2 * 4 * 16 * Square(n); }},
    {"Attention",
     [](int64_t n) -> OpRun {
       const HostTensor heads = Zeros({1, 4, n, 64}, DType::kF16);
       return {"Attention", {heads, heads, heads}};
     },
     [](int64_t n) { return 2 * 4 * 64 * Square(n); }},
    {"Conv",
     [](int64_t n) -> OpRun {
       return {"Conv", {Zeros({1, 4, n, n}), Zeros({8, 4, 3, 3})}};
     },
     [](int64_t n) { return 8 * 4 * 9 * Square(n - 2); }},
    {"Conv of larger windows",
     [](int64_t n) -> OpRun {
       return {"Conv", {Zeros({1, 1, 99, 99}), Zeros({1, 1, n, n})}};
     },
     [](int64_t n) { return Square(n) * Square(100 - n); }},
    {"ConvTranspose",
     [](int64_t n) -> OpRun {
       return {"ConvTranspose", {Zeros({1, 4, n, n}), Zeros({4, 8, 3, 3})}};
     },
     [](int64_t n) { return 8 * 4 * 9 * Square(n); }},
    {"ConvInteger",
     [](int64_t n) -> OpRun {
       return {"ConvInteger", {Bytes({1, n, 9, 9}), Bytes({n, n, 3, 3})}};
     },
     [](int64_t n) { return 9 * 49 * Square(n); }},
    {"DeformConv",
     [](int64_t n) -> OpRun {
       return {"DeformConv",
               {Zeros({1, 4, n, n}), Zeros({8, 4, 3, 3}), Zeros({1, 18, n - 2, n - 2})}};
     },
     [](int64_t n) { return 8 * 4 * 9 * Square(n - 2); }},
    {"LSTM",
     [](int64_t n) -> OpRun {
       return {"LSTM",
               {Zeros({7, 2, n}), Zeros({1, 4 * n, n}), Zeros({1, 4 * n, n})},
               {{"hidden_size", n}},
               3};
     },
     [](int64_t n) { return 7 * 2 * 4 * 2 * Square(n); }},
    {"Det",
     [](int64_t n) -> OpRun {
       return {"Det", {Zeros({n, n})}};
     },
     [](int64_t n) { return Cube(n) / 3; }},
    {"Inverse",
     [](int64_t n) -> OpRun {
       return {.op = "Inverse", .inputs = {Zeros({n, n})}, .domain = "com.microsoft", .opset = 1};
     },
     [](int64_t n) { return 4 * Cube(n) / 3; }},
    {"DFT",
     [](int64_t n) -> OpRun {
       return {"DFT", {Zeros({1, n, 2})}};
     },
     OfPowerOfTwo},
    {"STFT",
     [](int64_t n) -> OpRun {
       return {"STFT",
               {Zeros({1, 8 * n, 1}), Scalar(static_cast<double>(n)), Zeros({n})},
               {{"onesided", int64_t{1}}}};
     },
     [](int64_t n) { return 8 * OfPowerOfTwo(n); }},
    {"MaxPool",
     [](int64_t n) -> OpRun {
       return {"MaxPool", {Zeros({1, 1, 999})}, {{"kernel_shape", Ints{n}}}};
     },
     [](int64_t n) { return Linear(n) * Linear(1000 - n); }},
    {"LRN",
     [](int64_t n) -> OpRun {
       return {"LRN", {Zeros({1, 999, 2})}, {{"size", n}}};
     },
     [](int64_t n) { return 999 * 2 * Linear(n); }},
    {"TopK",
     [](int64_t n) -> OpRun {
       return {"TopK", {Zeros({n}), List({static_cast<double>(n)})}, {}, 2};
     },
     [](int64_t n) { return Linear(n) * std::log2(n); }},
    {"GridSample",
     [](int64_t n) -> OpRun {
       return {"GridSample", {Zeros({1, 3, 4, 4}), Zeros({1, n, n, 2})}};
     },
     [](int64_t n) { return 3 * 4 * Square(n); }},
    {"RoiAlign",
     [](int64_t n) -> OpRun {
       return {"RoiAlign",
               {Zeros({1, 3, 8, 8}), Zeros({5, 4}), List({0, 0, 0, 0, 0})},
               {{"sampling_ratio", n}}};
     },
     [](int64_t n) { return 5 * 3 * 4 * Square(n); }},
    {"MaxRoiPool",
     [](int64_t n) -> OpRun {
       return {"MaxRoiPool", {Zeros({1, 3, n, n}), Zeros({5, 5})}, {{"pooled_shape", Ints{2, 2}}}};
     },
     [](int64_t n) { return 5 * 3 * Square(n / 2); }},
    {"Col2Im",
     [](int64_t n) -> OpRun {
       const double side = static_cast<double>(n);
       return {"Col2Im", {Zeros({1, 9, (n - 2) * (n - 2)}), List({side, side}), List({3, 3})}};
     },
     [](int64_t n) { return 9 * Square(n - 2); }},
    {"CumSum",
     [](int64_t n) -> OpRun {
       return {"CumSum", {Zeros({n, n}), Scalar(1)}};
     },
     Square},
};

// One tenth is allowed for terms of lower order.
TEST(CostTest, FlopsGrowAsTheMultiplicationsOfTheDefinition) {
  constexpr int64_t kSmall = 32, kLarge = 64;
  for (const Growing& g : kGrowing) {
    const double small = static_cast<double>(CostOfRun(g.run(kSmall)).flops);
    const double large = static_cast<double>(CostOfRun(g.run(kLarge)).flops);
    const double expected = g.multiplications(kLarge) / g.multiplications(kSmall);
    EXPECT_NEAR(large / small / expected, 1, 0.15) << g.name;
    EXPECT_GE(large, g.multiplications(kLarge)) << g.name;
    EXPECT_LE(large, 20 * g.multiplications(kLarge)) << g.name;
  }
}

TEST(CostTest, ATransformOfAPrimeLengthIsASquare) {
  const auto flops = [](int64_t n) {
    return static_cast<double>(CostOfRun({"DFT", {Zeros({1, n, 2})}}).flops);
  };
  EXPECT_NEAR(flops(509) / flops(257), Square(509) / Square(257), 0.01);
  EXPECT_GT(flops(509), 20 * flops(512));
}

TEST(CostTest, TheDftsLengthAndAxisAreItsInputs) {
  const auto flops = [](HostTensor length, HostTensor axis) {
    return CostOfRun({"DFT", {Zeros({4, 64, 2}), std::move(length), std::move(axis)}}).flops;
  };
  EXPECT_EQ(flops(HostTensor(), Scalar(0)), 64 * CostOfRun({"DFT", {Zeros({1, 4, 2})}}).flops);
  EXPECT_EQ(flops(Scalar(128), Scalar(1)), 4 * CostOfRun({"DFT", {Zeros({1, 128, 2})}}).flops);
}

// Work of searches and of index arithmetic that grows with values or attributes is priced as time,
// not as flops.
TEST(CostTest, StepsOfSearchesAndIndicesGrow) {
  const auto skipping = [](int64_t skips) {
    return CostOfRun({"TfIdfVectorizer",
                      {Zeros({64}, DType::kI64)},
                      {{"mode", std::string("TF")},
                       {"min_gram_length", int64_t{2}},
                       {"max_gram_length", int64_t{2}},
                       {"max_skip_count", skips},
                       {"ngram_counts", Ints{0, 0}},
                       {"ngram_indexes", Ints{0}},
                       {"pool_int64s", Ints{1, 2}}}})
        .us;
  };
  EXPECT_DOUBLE_EQ(skipping(9), 10 * skipping(0));
  const auto picking = [](int64_t depth) {
    return CostOfRun({"GatherND", {Zeros({4, 4, 4}), Zeros({64, depth}, DType::kI64)}}).us;
  };
  EXPECT_DOUBLE_EQ(picking(3), 2 * picking(1));
  const Cost sine = CostOfRun({"Sin", {Zeros({64})}}), sum = CostOfRun({"Neg", {Zeros({64})}});
  EXPECT_GT(sine.us, 0);
  EXPECT_EQ(sine.flops, sum.flops);
}

TEST(CostTest, ProductsOfFloatsAreTheBlass) {
  EXPECT_EQ(CostOfRun({"MatMul", {Zeros({8, 8}), Zeros({8, 8})}}).blas_flops, 2 * 8 * 8 * 8);
  const HostTensor whole = Zeros({8, 8}, DType::kI32);
  EXPECT_EQ(CostOfRun({"MatMul", {whole, whole}}).blas_flops, 0);
  const OpRun depthwise = {
      "Conv", {Zeros({1, 4, 8, 8}), Zeros({4, 1, 3, 3})}, {{"group", int64_t{4}}}};
  EXPECT_EQ(CostOfRun(depthwise).blas_flops, 0);
  EXPECT_GT(CostOfRun(depthwise).flops, 0);
}

TEST(CostTest, OnlyWhatIsPickedIsRead) {
  const HostTensor table = Zeros({1000, 64});
  EXPECT_EQ(CostOfRun({"Gather", {table, List({3, 5})}}).bytes, 2 * 8 + 2 * 2 * 64 * 4);
  EXPECT_EQ(CostOfRun({"Slice", {table, List({1}), List({3}), List({0})}}).bytes, 2 * 2 * 64 * 4);
  EXPECT_EQ(CostOfRun({"Shape", {table}}).bytes, 2 * 8);
  EXPECT_EQ(CostOfRun(Einsum("ii->i", {Zeros({100, 100})})).bytes, 2 * 100 * 4);
}

// Ops whose only work is moving the bytes of their operands. Any other op defines OpDef::cost, but
// those with OpDef::evaluate, which no Engine runs.
TEST(CostTest, AnOpWithoutACostMovesBytes) {
  const std::set<std::string> moves = {
      "BitCast", "Concat",          "ConstantOfShape", "DepthToSpace", "Expand",  "EyeLike",
      "Flatten", "Identity",        "OneHot",          "Pad",          "Range",   "Reformat",
      "Reshape", "ReverseSequence", "SpaceToDepth",    "Split",        "Squeeze", "TensorScatter",
      "Tile",    "Transfer",        "Trilu",           "Unsqueeze"};
  std::set<std::string> found;
  for (const OpDef* op : AllOps()) {
    if (op->cost == nullptr && op->reference != nullptr) found.insert(op->type);
  }
  EXPECT_EQ(found, moves);
}

}  // namespace
}  // namespace onnx_cudnn

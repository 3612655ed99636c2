// Random ops: the generator's bits against published vectors, the numbers' distributions with fixed
// seeds, and who shares a stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

#include "runtime/graph/infer.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/random_draw.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMany = 100'000;

Attrs Shaped(int64_t n, Attrs attrs = {}) {
  attrs.Set("shape", std::vector<int64_t>{n});
  attrs.Set("seed", 3.0F);
  return attrs;
}

std::vector<double> Draw(const std::string& op, const Attrs& attrs) {
  return RunForNumbers({op, {}, attrs}).values;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}
double VarianceOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size());
}

// Of numbers in [0, 1) that should fall into `bins` equal parts equally often. The mean of the
// statistic is bins − 1, its variance twice that.
void ExpectUniform(const std::vector<double>& numbers, int bins) {
  std::vector<double> counts(bins);
  for (const double number : numbers) {
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    ++counts[static_cast<int>(number * bins)];
  }
  const double expected = static_cast<double>(numbers.size()) / bins;
  double chi_square = 0;
  for (const double count : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  const double deviation = std::sqrt(2.0 * (bins - 1));
  EXPECT_NEAR(chi_square, bins - 1, 5 * deviation);
}

// Vectors of Random123's kat_vectors for "philox4x32 10", which an implementation in Python from
// the text of the paper gives too.
TEST(PhiloxTest, GivesTheBitsOfThePaper) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// From the bits for key and counter 0, computed in Python.
TEST(RandomTest, NumbersAreTheBitsOfThePair) {
  Attrs attrs = Shaped(2, {{"dtype", int64_t{11}}});
  attrs.Set("seed", 0.0F);
  EXPECT_EQ(Draw("RandomUniform", attrs),
            (std::vector<double>{0.3990464708489645, 0.7357127844834425}));
  const std::vector<double> normals = Draw("RandomNormal", attrs);
  EXPECT_NEAR(normals[0], -0.09047305844120267, 1e-14);
  EXPECT_NEAR(normals[1], -1.0051318150657187, 1e-14);
}

TEST(RandomTest, UniformNumbersFillTheirRangeEvenly) {
  std::vector<double> numbers = Draw("RandomUniform", Shaped(kMany));
  EXPECT_NEAR(MeanOf(numbers), 0.5, 0.005);
  EXPECT_NEAR(VarianceOf(numbers), 1.0 / 12, 0.002);
  ExpectUniform(numbers, 64);
  const std::vector<double> wide =
      Draw("RandomUniform", Shaped(kMany, {{"low", -3.0F}, {"high", 5.0F}}));
  for (size_t i = 0; i < wide.size(); ++i) ASSERT_NEAR(wide[i], 8 * numbers[i] - 3, 1e-6);
}

TEST(RandomTest, NormalNumbersHaveTheirDistribution) {
  std::vector<double> numbers = Draw("RandomNormal", Shaped(kMany));
  EXPECT_NEAR(MeanOf(numbers), 0, 0.016);
  EXPECT_NEAR(VarianceOf(numbers), 1, 0.025);
  std::vector<double> products;  // of the two numbers of a pair
  for (size_t i = 0; i < numbers.size(); i += 2) products.push_back(numbers[i] * numbers[i + 1]);
  EXPECT_NEAR(MeanOf(products), 0, 0.025);
  const std::vector<double> moved =
      Draw("RandomNormal", Shaped(kMany, {{"mean", 4.0F}, {"scale", 0.5F}}));
  for (size_t i = 0; i < moved.size(); ++i) ASSERT_NEAR(moved[i], 4 + 0.5 * numbers[i], 1e-6);
  for (double& z : numbers) z = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  ExpectUniform(numbers, 64);
}

TEST(RandomTest, EveryTypeHasTheSameNumbersRounded) {
  for (const char* op : {"RandomUniform", "RandomNormal"}) {
    const auto of = [&](DType dtype) {
      return Draw(op, Shaped(1001, {{"dtype", static_cast<int64_t>(dtype)}}));
    };
    const std::vector<double> exact = of(DType::kF64);
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      EXPECT_EQ(of(dtype), NumbersOf(TensorOf(dtype, {1001}, exact)).values) << NameOf(dtype);
    }
  }
}

TEST(RandomTest, LikeTakesDimsAndType) {
  const Attrs seed = {{"seed", 3.0F}};
  for (const char* op : {"RandomUniform", "RandomNormal"}) {
    const std::string like = std::string(op) + "Like";
    const Attrs as_f16 = Shaped(6, {{"dtype", static_cast<int64_t>(DType::kF16)}});
    const HostTensor half = TensorOf(DType::kF16, {2, 3}, {1, 2, 3, 4, 5, 6});
    const HostTensor found = RunOp({like, {half}, seed}).value()[0];
    EXPECT_EQ(found.dtype(), DType::kF16);
    EXPECT_EQ(found.dims(), (Dims{2, 3}));
    EXPECT_EQ(NumbersOf(found).values, Draw(op, as_f16));
    Attrs typed = seed;
    typed.Set("dtype", static_cast<int64_t>(DType::kF64));
    EXPECT_EQ(RunOp({like, {RowI({1, 2})}, typed}).value()[0].dtype(), DType::kF64);
  }
  EXPECT_FALSE(RunOp({"RandomNormalLike", {RowI({1, 2})}, seed}).ok());
}

TEST(RandomTest, WithoutASeedEachRunDiffers) {
  const Attrs attrs = {{"shape", std::vector<int64_t>{8}}};
  EXPECT_NE(Draw("RandomUniform", attrs), Draw("RandomUniform", attrs));
  EXPECT_EQ(Draw("RandomUniform", Shaped(8)), Draw("RandomUniform", Shaped(8)));
}

TEST(RandomTest, BernoulliDrawsEachProbability) {
  for (const DType in : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    std::vector<double> p(kMany, 0.25);
    std::fill(p.begin(), p.begin() + kMany / 2, 0.75);
    for (const DType out : {DType::kBool, DType::kI64, DType::kF16, DType::kF64}) {
      const std::vector<double> bits =
          RunForNumbers({"Bernoulli",
                         {TensorOf(in, {kMany}, p)},
                         {{"seed", 3.0F}, {"dtype", static_cast<int64_t>(out)}}})
              .values;
      const std::vector<double> likely(bits.begin(), bits.begin() + kMany / 2);
      const std::vector<double> rare(bits.begin() + kMany / 2, bits.end());
      EXPECT_EQ(std::set<double>(bits.begin(), bits.end()), (std::set<double>{0, 1}));
      EXPECT_NEAR(MeanOf(likely), 0.75, 0.01);
      EXPECT_NEAR(MeanOf(rare), 0.25, 0.01);
    }
  }
}

TEST(RandomTest, MultinomialDrawsClassesByTheirProbability) {
  // Unnormalized: 1/8, 0, 4/8, 3/8.
  const std::vector<double> logits = {7, -kInf, 7 + std::log(4), 7 + std::log(3)};
  for (const DType in : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (const DType out : {DType::kI32, DType::kI64}) {
      const OpRun run = {
          "Multinomial",
          {TensorOf(in, {1, 4}, logits)},
          {{"sample_size", kMany}, {"seed", 3.0F}, {"dtype", static_cast<int64_t>(out)}}};
      std::vector<double> counts(4);
      for (const double c : RunForNumbers(run).values) ++counts[static_cast<int>(c)];
      EXPECT_NEAR(counts[0] / kMany, 0.125, 0.01);
      EXPECT_EQ(counts[1], 0);
      EXPECT_NEAR(counts[2] / kMany, 0.5, 0.01);
      EXPECT_NEAR(counts[3] / kMany, 0.375, 0.01);
      EXPECT_EQ(RunOp(run).value()[0].dtype(), out);
    }
  }
}

TEST(RandomTest, MultinomialRowsDiffer) {
  const OpRun run = {"Multinomial",
                     {F32({2, 4}, std::vector<double>(8, 0))},
                     {{"sample_size", int64_t{64}}, {"seed", 3.0F}}};
  const std::vector<double> classes = RunForNumbers(run).values;
  EXPECT_FALSE(std::equal(classes.begin(), classes.begin() + 64, classes.begin() + 64));
}

TEST(RandomTest, DropoutScalesWhatItKeeps) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const std::vector<double> x = Pattern(kMany, 5);
    const std::vector<HostTensor> outputs =
        RunOp({"Dropout",
               {TensorOf(dtype, {kMany}, x), TensorOf(DType::kF64, {}, {0.75}), Bools({}, {1})},
               {{"seed", int64_t{9}}},
               2})
            .value();
    const std::vector<double> y = NumbersOf(outputs[0]).values, kept = NumbersOf(outputs[1]).values;
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], kept[i] * 4 * x[i]) << i;
    EXPECT_NEAR(MeanOf(kept), 0.25, 0.01);
  }
}

TEST(RandomTest, DropoutTakesARatioOf8Bits) {
  const OpRun run = {"Dropout",
                     {F32({kMany}, std::vector<double>(kMany, 1)),
                      HostTensor::Of<uint8_t>(DType::kF8E5M2, {}, {0x3a}), Bools({}, {1})},
                     {{"seed", int64_t{9}}}};
  const std::vector<double> y = RunForNumbers(run).values;
  EXPECT_EQ(std::set<double>(y.begin(), y.end()), (std::set<double>{0, 4}));  // a ratio of 0.75
}

TEST(RandomTest, DropoutNeedsNeitherMaskNorRatio) {
  const OpRun run = {"Dropout",
                     {F32({kMany}, std::vector<double>(kMany, 1)), HostTensor(), Bools({}, {1})},
                     {{"seed", int64_t{9}}}};
  const std::vector<double> y = RunForNumbers(run).values;
  EXPECT_EQ(std::set<double>(y.begin(), y.end()), (std::set<double>{0, 2}));
  EXPECT_NEAR(MeanOf(y), 1, 0.02);
}

// Nodes with equal attributes, and what they draw.
class StreamsTest : public testing::Test {
 protected:
  StreamsTest() { ExpectNodes({{"seed", 3.0F}}); }

  void ExpectNodes(Attrs attrs) {
    graph_ = Graph();
    attrs.Set("shape", std::vector<int64_t>{kElements});
    for (Node*& node : nodes_) {
      node = &graph_.AddNode({.op = "RandomUniform", .attrs = attrs});
      graph_.AddOutput("y", node->output(0));
    }
    ASSERT_TRUE(InferShapes(graph_).ok());
  }
  static std::vector<float> Run(const Node& node, int threads = 1) {
    std::vector<float> numbers(kElements);
    const Dims dims = {kElements};
    const std::vector<MutableTensorRef> out = {{DType::kF32, dims, numbers.data()}};
    ThreadPool pool(threads);
    const absl::Status status = EvaluateNode({node, {}, out, nullptr, pool});
    EXPECT_TRUE(status.ok()) << status;
    return numbers;
  }

  static constexpr int64_t kElements = 20'001;
  Graph graph_;
  std::array<Node*, 2> nodes_;
};

TEST_F(StreamsTest, NodesAndDrawsDiffer) {
  for (const bool seeded : {true, false}) {
    ExpectNodes(seeded ? Attrs{{"seed", 3.0F}} : Attrs{});
    const RandomStreams streams(graph_);
    std::set<std::vector<float>> drawn;
    for (int i = 0; i < 3; ++i) {
      for (const Node* node : nodes_) drawn.insert(Run(*node));
    }
    EXPECT_EQ(drawn.size(), 6);
  }
}

TEST_F(StreamsTest, ASeedRepeatsItsSequence) {
  std::vector<std::vector<float>> first, second;
  for (auto* drawn : {&first, &second}) {
    const RandomStreams streams(graph_);
    for (int i = 0; i < 3; ++i) drawn->push_back(Run(*nodes_[1]));
  }
  EXPECT_EQ(first, second);
}

TEST_F(StreamsTest, WithoutASeedNothingRepeats) {
  ExpectNodes({});
  std::set<std::vector<float>> drawn;
  for (int i = 0; i < 2; ++i) {
    const RandomStreams streams(graph_);
    drawn.insert(Run(*nodes_[0]));
  }
  EXPECT_EQ(drawn.size(), 2);
}

TEST_F(StreamsTest, ThreadsDoNotMatter) { EXPECT_EQ(Run(*nodes_[0], 1), Run(*nodes_[0], 5)); }

TEST_F(StreamsTest, ACopyDrawsFromTheSameStream) {
  const RandomStreams streams(graph_);
  const Graph copy = graph_.Clone();
  EXPECT_NE(Run(*nodes_[0]), Run(*copy.TopologicalOrder()[0]));
}

TEST_F(StreamsTest, DropoutIsRandomUnlessItSurelyInfers) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Value& mode = graph.AddInput("t", Type::Tensor(DType::kBool, {}));
  const auto is_random = [&](Value* training) {
    return IsRandom(graph.AddNode({.op = "Dropout", .inputs = {&x, nullptr, training}}));
  };
  EXPECT_FALSE(IsRandom(graph.AddNode({.op = "Dropout", .inputs = {&x}})));
  EXPECT_FALSE(is_random(&graph.AddConstant(Bools({}, {0}))));
  EXPECT_TRUE(is_random(&graph.AddConstant(Bools({}, {1}))));
  EXPECT_TRUE(is_random(&mode));
}

}  // namespace
}  // namespace onnx_cudnn

// Which squeeze-and-excitation blocks run as one launch, and their prices.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "passes/partition/partitioners.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kBlock =
    "p = GlobalAveragePool(x) s = Conv(p, w, wb) r = Relu(s) t = Conv(r, wc, wd) a = Sigmoid(t) ";

class SqueezeExciteTest : public KernelsTest {
 protected:
  // x of 16 channels, 4 hidden ones.
  static std::string Text(std::string_view nodes) {
    return absl::StrCat(
        "g (float16[2,16,3,3] x, float16[2,16,3,3] z, float16[4,16,1,1] w, float16[4] wb, "
        "float16[16,4,1,1] wc, float16[16] wd) => (y) { ",
        nodes, " }");
  }

  // A block in f16, followed by a Mul.
  static Value& Scaled(Graph& graph, Value& x, int64_t hidden) {
    const int64_t channels = x.dim(1);
    const auto conv = [&](Value& from, int64_t to) -> Value& {
      return Append(graph, "Conv",
                    {&from, &Weights(graph, DType::kF16, {to, from.dim(1), 1, 1}),
                     &Weights(graph, DType::kF16, {to})});
    };
    Value& squeezed = conv(Append(graph, "GlobalAveragePool", {&x}), hidden);
    Value& excited = conv(Append(graph, "Relu", {&squeezed}), channels);
    return Append(graph, "Mul", {&x, &Append(graph, "HardSigmoid", {&excited})});
  }

  // Candidates at the pooling that contain more than the pooling.
  std::vector<std::string> LargerAt(const Graph& graph) const {
    std::vector<std::string> lines = LinesAt(graph, "GlobalAveragePool");
    std::erase_if(lines, [](const std::string& line) { return line.find("Conv") == line.npos; });
    return lines;
  }
};

TEST_F(SqueezeExciteTest, TakesBlocksFromAnyOfTheirNodes) {
  ExpectCases({
      {"the gates", Text(absl::StrCat(kBlock, "y = Identity(a)")), "GlobalAveragePool",
       "{GlobalAveragePool Conv Relu Conv Sigmoid}"},
      {"the same from a convolution on", Text(absl::StrCat(kBlock, "y = Identity(a)")), "Conv",
       "{GlobalAveragePool Conv Relu Conv Sigmoid}"},
      {"the image by its gates", Text(absl::StrCat(kBlock, "y = Mul(x, a)")), "GlobalAveragePool",
       "{GlobalAveragePool Conv Relu Conv Sigmoid Mul}"},
      {"the gates by the image", Text(absl::StrCat(kBlock, "y = Mul(a, x)")), "Conv",
       "{GlobalAveragePool Conv Relu Conv Sigmoid Mul}"},
      {"x times its logistic function between, no biases",
       Text("p = GlobalAveragePool(x) s = Conv(p, w) r = Swish(s) t = Conv(r, wc) "
            "a = HardSigmoid<alpha = 0.25, beta = 0.75>(t) y = Mul(x, a)"),
       "GlobalAveragePool", "{GlobalAveragePool Conv Swish Conv HardSigmoid Mul}"},
      {"nothing between",
       Text("p = GlobalAveragePool(x) s = Conv(p, w) t = Conv(s, wc) a = Sigmoid(t) y = Mul(x, a)"),
       "Conv", "{GlobalAveragePool Conv Conv Sigmoid Mul}"},
      {"another image by the gates", Text(absl::StrCat(kBlock, "y = Mul(z, a)")),
       "GlobalAveragePool", "{GlobalAveragePool Conv Relu Conv Sigmoid}",
       "it multiplies the pooled image by its gates, nothing else joins"},
      {"what reads the product", Text(absl::StrCat(kBlock, "m = Mul(x, a) y = Mul(m, x)")),
       "GlobalAveragePool", "{GlobalAveragePool Conv Relu Conv Sigmoid Mul}",
       "it multiplies the pooled image by its gates, nothing else joins"},
      {"gates that others read", Text(absl::StrCat(kBlock, "m = Mul(x, a) y = Add(m, a)")),
       "GlobalAveragePool", "{GlobalAveragePool Conv Relu Conv Sigmoid}",
       "it writes one result, and its gates have other readers"},
  });
}

TEST_F(SqueezeExciteTest, ReadsAndWritesChannelsLast) {
  EXPECT_EQ(
      LargerAt(GraphWithWeights(Text(absl::StrCat(kBlock, "y = Mul(x, a)")))),
      (std::vector<std::string>{"{GlobalAveragePool Conv Relu Conv Sigmoid} last > rows",
                                "{GlobalAveragePool Conv Relu Conv Sigmoid Mul} last > last"}));
}

// One cluster takes longer to multiply a large image than a kernel on the whole device.
TEST_F(SqueezeExciteTest, ToMultiplyLargeImagesIsBeyondItsFit) {
  for (const int64_t side : {181, 182, 600}) {  // 262,088, 264,992 and 2,880,000 elements
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {1, 8, side, side}));
    graph.AddOutput("y", Scaled(graph, x, 8));
    std::vector<Candidate> found = At(graph, "GlobalAveragePool").candidates;
    std::erase_if(found, [](const Candidate& c) { return c.nodes.size() == 1; });
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].beyond_fit, side == 600);  // the gates alone
    EXPECT_EQ(found[1].beyond_fit, side > 181);
  }
}

// Rows: the ops between the image x and the result y.
TEST_F(SqueezeExciteTest, LeavesOtherBlocks) {
  const auto leaves = [&](const std::string& inputs, const std::string& nodes, const char* says) {
    ExpectPoolAlone(inputs, nodes, "squeeze_excite", says);
  };
  const std::string block =
      "p = GlobalAveragePool(x) s = Conv(p, w) r = Relu(s) t = Conv(r, wc) y = Sigmoid(t)";
  leaves("float[1,8,7,7] x, float[4,8,1,1] w, float[8,4,1,1] wc", block, "it does not take f32");
  leaves("float16[1,12,7,7] x, float16[4,12,1,1] w, float16[12,4,1,1] wc", block,
         "12 channels are no multiple of 8");
  leaves("float16[1,2056,1,1] x, float16[4,2056,1,1] w, float16[2056,4,1,1] wc", block,
         "2056 channels are more than 2048");
  leaves("float16[1,8,7,7] x, float16[513,8,1,1] w, float16[8,513,1,1] wc", block,
         "513 hidden channels are more than 512");
  leaves("float16[1,8,7,7] x, float16[4,8,1,1] w, float16[16,4,1,1] wc", block,
         "16 gates are not one for each of 8");
  leaves("float16[1,8,7,7] x, float16[4,8,1,1] v, float16[8,4,1,1] wc",
         "p = GlobalAveragePool(x) s = Conv(p, v) r = Relu(s) t = Conv(r, wc) y = Sigmoid(t)",
         "weight or bias is not a constant");
  leaves("float16[1,8,7,7] x, float16[4,4,1,1] w, float16[8,4,1,1] wc",
         "p = GlobalAveragePool(x) s = Conv<group = 2>(p, w) t = Conv(s, wc) y = Sigmoid(t)",
         "it has 2 groups");
  leaves("float16[1,8,7,7] x, float16[4,8,3,3] w, float16[8,4,1,1] wc",
         "p = GlobalAveragePool(x) s = Conv<pads = [1,1,1,1]>(p, w) t = Conv(s, wc) y = Sigmoid(t)",
         "a convolution is not 1 x 1 with stride 1 and no pads");
  // Not such a block.
  const std::string types = "float16[1,8,7,7] x, float16[4,8,1,1] w, float16[8,4,1,1] wc";
  leaves(types,
         "p = GlobalAveragePool(x) s = Conv(p, w) r = Tanh(s) t = Conv(r, wc) y = Sigmoid(t)", "");
  leaves(types, "p = GlobalAveragePool(x) s = Conv(p, w) r = Relu(s) t = Conv(r, wc) y = Tanh(t)",
         "");
}

TEST_F(SqueezeExciteTest, LeavesHiddenChannelsWithOtherReaders) {
  const Graph graph = GraphWithWeights(
      "g (float16[1,8,7,7] x, float16[4,8,1,1] w, float16[8,4,1,1] wc) => (y, z) "
      "{ p = GlobalAveragePool(x) s = Conv(p, w) r = Relu(s) t = Conv(r, wc) y = Sigmoid(t) "
      "z = Tanh(r) }");
  EXPECT_EQ(LargerAt(graph), std::vector<std::string>());
}

TEST_F(SqueezeExciteTest, IsPricedByWhatAClusterReads) {
  const auto prices = [&](int64_t images) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {images, 96, 12, 80}));
    graph.AddOutput("y", Scaled(graph, x, 24));
    std::vector<double> us;
    for (const Candidate& c : At(graph, "GlobalAveragePool").candidates) {
      if (c.nodes.size() > 1) us.push_back(c.cost.us);
    }
    return us;
  };
  const double weights_us = 2.0 * (2 * 96 * 24 + 96 + 24) / 1e6, bytes = 2.0 * 96 * 12 * 80;
  const std::vector<double> one = prices(1), many = prices(32);
  ASSERT_EQ(one.size(), 2u);
  ASSERT_EQ(many.size(), 2u);
  EXPECT_NEAR(one[0], 3.2 + weights_us + bytes / 1e6, 0.01);
  EXPECT_NEAR(one[1], 3.2 + weights_us + 3 * bytes / 1e6, 0.01);
  // 16 concurrent clusters would read faster than memory allows.
  EXPECT_NEAR(many[1], 3.2 + weights_us + 3 * 32 * bytes / target_.info.bytes_per_us, 0.01);
}

TEST_F(SqueezeExciteTest, IsChosenBetweenConvolutions) {
  Graph graph;
  const auto conv = [&](Value& x) -> Value& {
    return Append(graph, "Conv", {&x, &Weights(graph, DType::kF16, {64, 64, 1, 1})});
  };
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {1, 64, 7, 7}));
  Value& image = Append(graph, "Relu", {&conv(x)});
  graph.AddOutput("y", conv(Scaled(graph, image, 16)));
  ExpectChosen(graph, "kernel {GlobalAveragePool Conv Relu Conv HardSigmoid Mul}", {Greedy});
}

}  // namespace
}  // namespace onnx_cudnn

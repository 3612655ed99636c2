// How the operands of cuDNN's Candidates lie, what is checked of them, and what they cost.
#include <algorithm>

#include "absl/strings/substitute.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

class CudnnLayoutsTest : public EngineTest {
 protected:
  CudnnLayoutsTest() : EngineTest("cudnn") {}

  // LinesAt the first `op` of the Graph of a text.
  std::vector<std::string> LinesOf(std::string_view text, std::string_view op = "Conv") const {
    return LinesAt(GraphWithWeights(text), op);
  }

  // Price of the Candidate at `op` that Describe prints like this; < 0: there is none.
  double PriceOf(const Graph& graph, std::string_view op, std::string_view described) const {
    for (const Candidate& c : At(graph, op).candidates) {
      if (Describe(c) == described) return c.cost.us;
    }
    return -1;
  }

  // The reason of the refusal.
  std::string Check(const Graph& graph, const Candidate& candidate) const {
    return engine_->Check(graph, candidate, target_).reason();
  }
};

using Lines = std::vector<std::string>;

TEST_F(CudnnLayoutsTest, ConvolutionsAreChannelsLast) {
  EXPECT_EQ(LinesOf("g (float16[1,8,4,4] x, float16[16,8,3,3] w) => (y) "
                    "{ t = Conv(x, w) y = Relu(t) }"),
            Lines({"{Conv} last > last", "{Conv Relu} last > last"}));
}

TEST_F(CudnnLayoutsTest, AStemMayPadItsChannels) {
  EXPECT_EQ(LinesOf("g (float16[1,3,4,4] x, float16[8,3,1,1] w) => (y) "
                    "{ y = Conv(x, w) }"),
            Lines({"{Conv} last > last", "{Conv} last4 > last", "{Conv} last8 > last"}));
  EXPECT_EQ(LinesOf("g (float[1,3,4,4] x, float[8,3,1,1] w) => (y) "
                    "{ y = Conv(x, w) }"),
            Lines({"{Conv} last > last", "{Conv} last4 > last"}));
}

TEST_F(CudnnLayoutsTest, WeightsThatAreNoConstantsAreNotPadded) {
  EXPECT_EQ(LinesOf("g (float16[1,3,4,4] x, float16[8,3,2,2] v) => (y) "
                    "{ y = Conv(x, v) }"),
            Lines({"{Conv} last last > last"}));
}

TEST_F(CudnnLayoutsTest, ResultsArePaddedWherePaddingStaysZero) {
  const auto layouts = [&](const std::string& behind) {
    return LinesOf(
        "g (float16[1,8,4,4] x, float16[6,8,1,1] w) => (y) "
        "{ t = Conv(x, w) " +
        behind + " }");
  };
  EXPECT_EQ(layouts("y = Relu(t)"), Lines({"{Conv} last > last", "{Conv} last > last4",
                                           "{Conv Relu} last > last", "{Conv Relu} last > last4"}));
  EXPECT_EQ(layouts("y = Sigmoid(t)"),
            Lines({"{Conv} last > last", "{Conv} last > last4", "{Conv Sigmoid} last > last"}));
}

TEST_F(CudnnLayoutsTest, AnInputThatIsAlsoTheResidualHasTheLayoutOfTheResult) {
  EXPECT_EQ(LinesOf("g (float16[1,6,4,4] x, float16[6,6,1,1] w) => (y) "
                    "{ t = Conv(x, w) y = Add(t, x) }"),
            Lines({"{Conv} last > last", "{Conv} last > last4", "{Conv} last4 > last",
                   "{Conv} last4 > last4", "{Conv Add} last > last", "{Conv Add} last4 > last4"}));
}

TEST_F(CudnnLayoutsTest, OperandsOfLowerRankAreAlignedAtTheirEnd) {
  const Graph graph = GraphWithWeights(
      "g (float16[1,8,4,2] x, float16[8,8,1,1] w, float16[8,4,2] r) => (y) "
      "{ t = Conv(x, w) y = Add(t, r) }");
  const std::vector<Candidate> candidates = At(graph, "Conv").candidates;
  ASSERT_EQ(candidates.size(), 2u);
  const std::vector<int> channels_last = {1, 2, 0};
  EXPECT_EQ(candidates[1].inputs[1].format,
            Format::Permuted(std::vector<int64_t>{8, 4, 2}, channels_last));
}

TEST_F(CudnnLayoutsTest, ElementWiseOpsOnImagesHaveBothOrders) {
  EXPECT_EQ(LinesOf("g (float[1,8,4,4] x) => (y) { y = Relu(x) }", "Relu"),
            Lines({"{Relu} rows > rows", "{Relu} last > last"}));
  EXPECT_EQ(LinesOf("g (float[2,4,8] x) => (y) { y = Relu(x) }", "Relu"),
            Lines({"{Relu} rows > rows"}));
}

TEST_F(CudnnLayoutsTest, PoolingIsRowMajorOnlyWithSymmetricPads) {
  constexpr std::string_view kPool =
      "g (float[1,8,4,4] x) => (y) { y = MaxPool<kernel_shape = [3,3], pads = $0>(x) }";
  EXPECT_EQ(LinesOf(absl::Substitute(kPool, "[1,1,1,1]"), "MaxPool"),
            Lines({"{MaxPool} last > last", "{MaxPool} rows > rows"}));
  EXPECT_EQ(LinesOf(absl::Substitute(kPool, "[0,0,1,1]"), "MaxPool"),
            Lines({"{MaxPool} last > last"}));
}

TEST_F(CudnnLayoutsTest, CheckRefusesACandidateThatWasChanged) {
  const Graph graph = GraphWithWeights(
      "g (float16[1,8,4,4] x, float16[8,8,1,1] w, float16[1,8,4,4] r) => (y, z) "
      "{ t = Conv(x, w) y = Add(t, r) p = MaxPool<kernel_shape = [2,2]>(y) z = Round(y) }");
  const Candidate largest = At(graph, "Conv").candidates.back();
  EXPECT_EQ(Check(graph, largest), "");

  Candidate changed = largest;
  changed.inputs[0].format = Format::RowMajor({1, 8, 4, 4});
  EXPECT_NE(Check(graph, changed).find("x lies as"), std::string::npos) << Check(graph, changed);
  changed = largest;
  changed.outputs[0].format = Format::RowMajor({1, 8, 4, 4});
  EXPECT_NE(Check(graph, changed).find("y lies as"), std::string::npos);
  changed = largest;
  changed.inputs[1].space = Space::kHost;
  EXPECT_EQ(Check(graph, changed), "r is not on the device");
  changed = largest;
  changed.nodes.push_back(&FindNode(graph, "MaxPool"));
  EXPECT_EQ(Check(graph, changed), "cuDNN's pooling reads its input from memory");
  changed = largest;
  changed.nodes.push_back(&FindNode(graph, "Round"));
  EXPECT_EQ(Check(graph, changed), "cuDNN has no pointwise mode for the op");
}

// Times in µs measured on an H200 (docs/measurements.md, 'Stems', 'Residuals' and 'Convolutions of
// ResNet-50 in cuDNN'), next to the predicted ones.
struct Measured {
  std::string what, text, described;
  double us;
};
const Measured kMeasured[] = {
    {"stem as it is",
     "g (float16[256,3,224,224] x, float16[64,3,7,7] w) => (y) "
     "{ t = Conv<pads = [3,3,3,3], strides = [2,2]>(x, w) y = Relu(t) }",
     "{Conv Relu} last > last", 555},
    {"stem padded to 4",
     "g (float16[256,3,224,224] x, float16[64,3,7,7] w) => (y) "
     "{ t = Conv<pads = [3,3,3,3], strides = [2,2]>(x, w) y = Relu(t) }",
     "{Conv Relu} last4 > last", 407},
    {"stem padded to 8",
     "g (float16[256,3,224,224] x, float16[64,3,7,7] w) => (y) "
     "{ t = Conv<pads = [3,3,3,3], strides = [2,2]>(x, w) y = Relu(t) }",
     "{Conv Relu} last8 > last", 1231},
    {"3x3 of 64 channels",
     "g (float16[256,64,56,56] x, float16[64,64,3,3] w) => (y) "
     "{ t = Conv<pads = [1,1,1,1]>(x, w) y = Relu(t) }",
     "{Conv Relu} last > last", 125},
    {"3x3 of 256 channels",
     "g (float16[256,256,14,14] x, float16[256,256,3,3] w) => (y) "
     "{ t = Conv<pads = [1,1,1,1]>(x, w) y = Relu(t) }",
     "{Conv Relu} last > last", 92},
    {"3x3 of 256 channels, batch 1",
     "g (float16[1,256,14,14] x, float16[256,256,3,3] w) => (y) "
     "{ t = Conv<pads = [1,1,1,1]>(x, w) y = Relu(t) }",
     "{Conv Relu} last > last", 7.8},
    {"residual 1x1, 64 to 256",
     "g (float16[256,64,56,56] x, float16[256,64,1,1] w, float16[256,256,56,56] r) => (y) "
     "{ t = Conv(x, w) s = Add(t, r) y = Relu(s) }",
     "{Conv Add Relu} last last > last", 333},
    {"residual 1x1, 512 to 2048",
     "g (float16[256,512,7,7] x, float16[2048,512,1,1] w, float16[256,2048,7,7] r) => (y) "
     "{ t = Conv(x, w) s = Add(t, r) y = Relu(s) }",
     "{Conv Add Relu} last last > last", 60.5},
    {"residual 3x3 of 64 channels",
     "g (float16[256,64,56,56] x, float16[64,64,3,3] w, float16[256,64,56,56] r) => (y) "
     "{ t = Conv<pads = [1,1,1,1]>(x, w) s = Add(t, r) y = Relu(s) }",
     "{Conv Add Relu} last last > last", 178},
    {"depthwise 3x3 of 96 channels",
     "g (float16[256,96,56,56] x, float16[96,1,3,3] w) => (y) "
     "{ t = Conv<pads = [1,1,1,1], group = 96>(x, w) y = Relu(t) }",
     "{Conv Relu} last > last", 220},
    {"depthwise 7x7 of 96 channels",
     "g (float16[16,96,160,160] x, float16[96,1,7,7] w) => (y) "
     "{ y = Conv<pads = [3,3,3,3], group = 96>(x, w) }",
     "{Conv} last > last", 4108},
    {"depthwise 7x7 of 96 channels at 20x20",
     "g (float16[16,96,20,20] x, float16[96,1,7,7] w) => (y) "
     "{ y = Conv<pads = [3,3,3,3], group = 96>(x, w) }",
     "{Conv} last > last", 79.4},
    {"depthwise 7x7 of 96 channels in f32",
     "g (float[16,96,80,80] x, float[96,1,7,7] w) => (y) "
     "{ y = Conv<pads = [3,3,3,3], group = 96>(x, w) }",
     "{Conv} last > last", 2075},
};

TEST_F(CudnnLayoutsTest, PricesAreNearWhatWasMeasured) {
  for (const Measured& m : kMeasured) {
    SCOPED_TRACE(m.what);
    const double us = PriceOf(GraphWithWeights(m.text), "Conv", m.described);
    EXPECT_GT(us, 0.75 * m.us);
    EXPECT_LT(us, 1.3 * m.us);
  }
}

}  // namespace
}  // namespace onnx_cudnn

#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/verify.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// The result of the pass for a Target with or without a GPU; "": unchanged.
std::string Split(std::string_view text, int compute_capability = 90) {
  Graph graph = GraphFromText(text);
  const bool changed = Changes(SplitPad(), graph, compute_capability);
  EXPECT_FALSE(Changes(SplitPad(), graph, compute_capability)) << PrintOnOneLine(graph);
  return changed ? PrintOnOneLine(graph) : "";
}

constexpr std::string_view kUneven =
    "g (float[1,1,4,4] x) => (float[1,1,5,6] y) <float[1,1,2,2] w = {1,2,3,4}> "
    "{ y = Conv<pads = [1, 1, 1, 2]>(x, w) }";

TEST(SplitPadTest, APadTakesWhatOneSideHasMore) {
  EXPECT_EQ(Split(kUneven),
            "g (f32[1,1,4,4] x) => (f32[1,1,5,6] y) { pad = Pad(x, {0, 0, 0, 0, 0, 0, 0, 1}) "
            "y = Conv<pads = [1, 1, 1, 1]>(pad, {1, 2, 3, 4}) }");
  EXPECT_EQ(Split(kUneven, 0), "");
}

TEST(SplitPadTest, TakesPadsThatFollowFromTheWindow) {
  EXPECT_NE(Split("g (float[N,1,H,W] x) => (float[N,1,H,W] y) <float[1,1,2,2] w = {1,2,3,4}> "
                  "{ y = Conv<auto_pad = \"SAME_LOWER\">(x, w) }"),
            "");
}

TEST(SplitPadTest, LeavesWhatNeedsNone) {
  constexpr std::string_view kStays[] = {
      // even pads
      "g (float[1,1,4,4] x) => (y) <float[1,1,3,3] w = {1,1,1,1,1,1,1,1,1}> "
      "{ y = Conv<auto_pad = \"SAME_UPPER\">(x, w) }",
      // unknown extents
      "g (float[1,1,H,W] x) => (y) <float[1,1,2,2] w = {1,2,3,4}> "
      "{ y = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w) }",
      // a depthwise Conv
      "g (float[1,2,4,4] x) => (y) <float[2,1,2,2] w = {1,2,3,4,5,6,7,8}> "
      "{ y = Conv<auto_pad = \"SAME_UPPER\", group = 2>(x, w) }",
      // the weight is not a constant
      "g (float[1,1,4,4] x, float[1,1,2,2] w) => (y) { y = Conv<pads = [0, 0, 1, 1]>(x, w) }",
      "g (double[1,1,4,4] x) => (y) <double[1,1,2,2] w = {1,2,3,4}> "
      "{ y = Conv<pads = [0, 0, 1, 1]>(x, w) }"};
  for (const std::string_view text : kStays) EXPECT_EQ(Split(text), "") << text;
}

TEST(SplitPadTest, LeavesWhatOurOwnKernelsTake) {
  struct Case {
    DType dtype;
    int64_t images, channels;
    int compute_capability;
    bool splits;
  };
  for (const Case& c : {Case{DType::kF32, 16, 64, 90, false}, Case{DType::kF32, 16, 64, 80, true},
                        Case{DType::kF16, 8, 24, 90, false}, Case{DType::kF16, 8, 24, 80, true},
                        Case{DType::kF32, 8, 24, 90, true}, Case{DType::kF16, 9, 24, 90, true},
                        Case{DType::kBF16, 8, 12, 90, true}}) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(c.dtype, {c.images, c.channels, 4, 4}));
    Value& w = graph.AddConstant(HostTensor::Allocate(c.dtype, {c.channels, c.channels, 2, 2}));
    Node& conv = graph.AddNode(
        {.op = "Conv", .inputs = {&x, &w}, .attrs = {{"pads", std::vector<int64_t>{0, 0, 1, 1}}}});
    graph.SetType(conv.output(0), x.type());
    graph.AddOutput("y", conv.output(0));
    const Target target{.info = {.compute_capability = c.compute_capability}};
    PassContext context{.target = &target};
    EXPECT_EQ(*SplitPad()->Run(graph, context), c.splits)
        << ToString(x.type()) << " on sm_" << c.compute_capability;
  }
}

TEST(SplitPadTest, TheResultsAreTheSame) {
  for (const char* attributes :
       {"pads = [0, 1, 2, 0]", "auto_pad = \"SAME_UPPER\"", "auto_pad = \"SAME_LOWER\"",
        "auto_pad = \"SAME_UPPER\", strides = [4, 4]",
        "auto_pad = \"SAME_LOWER\", dilations = [3, 1], strides = [1, 2]"}) {
    SCOPED_TRACE(attributes);
    const std::string text =
        absl::StrCat("g (float[1,1,5,6] x) => (y) <float[1,1,2,2] w = {1,2,3,4}> { y = Conv<",
                     attributes, ">(x, w) }");
    Graph graph = GraphFromText(text);
    const Target target{.info = {.compute_capability = 90}};
    PassContext context{.target = &target};
    std::vector<float> numbers(30);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * i % 17);
    const std::vector<HostTensor> x = {HostTensor::Of<float>(DType::kF32, {1, 1, 5, 6}, numbers)};
    const auto expected = Evaluate(graph, x);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_TRUE(*SplitPad()->Run(graph, context));
    const auto found = Evaluate(graph, x);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(SameContent((*found)[0], (*expected)[0]));
  }
}

}  // namespace
}  // namespace onnx_cudnn

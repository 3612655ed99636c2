#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

struct Result {
  bool changed;
  std::string graph;
  std::vector<std::string> reasons;
};

// Runs the pass for a Target with or without a GPU.
Result RunFor(int compute_capability, std::string_view text) {
  Graph graph = GraphFromText(text);
  const Target target{.info = {.compute_capability = compute_capability}};
  std::vector<Remark> remarks;
  PassContext context{.target = &target, .remarks = &remarks};
  const absl::StatusOr<bool> changed = CloneCheap()->Run(graph, context);
  EXPECT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  Result result{.changed = *changed, .graph = PrintOnOneLine(graph)};
  for (const Remark& remark : remarks) result.reasons.push_back(remark.reason);
  EXPECT_FALSE(*CloneCheap()->Run(graph, context))
      << "a second run changed " << PrintOnOneLine(graph);
  return result;
}

void ExpectStays(std::string_view text, const std::string& reason) {
  const Result result = RunFor(90, text);
  EXPECT_FALSE(result.changed) << result.graph;
  EXPECT_EQ(result.reasons, std::vector<std::string>{reason});
}

constexpr std::string_view kTwoConvs = R"(
    g (float[1,1,4,4] x) => (float[1,1,4,4] y, float[1,1,4,4] z) <float[1,1,1,1] w = {2}>
    { r = Relu(x)
      y = Conv(r, w)
      z = Conv(r, w) })";

TEST(CloneCheapTest, CopiesForEachConvolution) {
  EXPECT_EQ(RunFor(90, kTwoConvs).graph,
            "g (f32[1,1,4,4] x) => (f32[1,1,4,4] y, f32[1,1,4,4] z) { r = Relu(x) "
            "r_0 = Relu(x) y = Conv(r_0, {2}) z = Conv(r, {2}) }");
}

TEST(CloneCheapTest, LeavesTheNodeToOtherUsers) {
  const Result result = RunFor(90, R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] y, float[1,1,4,4] z) <float[1,1,1,1] w = {2}>
      { r = Relu(x)
        y = Conv(r, w)
        z = Softmax(r) })");
  EXPECT_EQ(result.graph,
            "g (f32[1,1,4,4] x) => (f32[1,1,4,4] y, f32[1,1,4,4] z) { r = Relu(x) "
            "r_0 = Relu(x) y = Conv(r_0, {2}) z = Softmax(r) }");
}

TEST(CloneCheapTest, CopiesDequantization) {
  const Result result = RunFor(90, R"(
      g (int8[1,1,4,4] x) => (float[1,1,4,4] y, float[1,1,4,4] z)
        <float s = {0.5}, float[1,1,1,1] w = {2}>
      { r = DequantizeLinear(x, s)
        y = Conv(r, w)
        z = Conv(r, w) })");
  EXPECT_TRUE(result.changed) << absl::StrJoin(result.reasons, ", ");
}

TEST(CloneCheapTest, DoesNothingWithoutAGpu) { EXPECT_FALSE(RunFor(0, kTwoConvs).changed); }

TEST(CloneCheapTest, LeavesWhatOneConvolutionReads) {
  const Result result = RunFor(90, R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}>
      { r = Relu(x)
        y = Conv(r, w) })");
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(result.reasons.empty());
}

// Two Convs read `r`.
std::string BeforeTwoConvs(std::string_view inputs, std::string_view type, std::string_view r) {
  return absl::Substitute(R"(
      g ($0) => ($1[1,1,4,4] y, $1[1,1,4,4] z) <$1[1,1,1,1] w = {2}>
      { r = $2
        y = Conv(r, w)
        z = Conv(r, w) })",
                          inputs, type, r);
}

TEST(CloneCheapTest, LeavesCostlyNodes) {
  ExpectStays(BeforeTwoConvs("float[1,1,4,4] x", "float", "Tanh(x)"), "it is not cheap");
}

TEST(CloneCheapTest, LeavesNodesThatReadMoreThanTheyWrite) {
  ExpectStays(BeforeTwoConvs("float[1,1,4,4] x", "float16", "Cast<to = 10>(x)"),
              "it reads more than it writes");
}

TEST(CloneCheapTest, LeavesSums) {
  ExpectStays(BeforeTwoConvs("float[1,1,4,4] x, float[1,1,4,4] v", "float", "Add(x, v)"),
              "it has other than one large operand");
}

TEST(CloneCheapTest, LeavesGraphOutputs) {
  ExpectStays(R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] r, float[1,1,4,4] y) <float[1,1,1,1] w = {2}>
      { r = Relu(x)
        y = Conv(r, w) })",
              "its output is a graph output, in memory anyway");
}

TEST(CloneCheapTest, LeavesEpilogues) {
  ExpectStays(R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] y, float[1,1,4,4] z) <float[1,1,1,1] w = {2}>
      { t = Conv(x, w)
        r = Relu(t)
        y = Conv(r, w)
        z = Conv(r, w) })",
              "the Node before can fuse it");
}

TEST(CloneCheapTest, LeavesManyUsers) {
  ExpectStays(R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}>
      { r = Relu(x) a = Conv(r, w) b = Conv(r, w) c = Conv(r, w) d = Conv(r, w) e = Conv(r, w)
        f = Conv(r, w) y = Sum(a, b, c, d, e, f) })",
              "it has too many users");
}

}  // namespace
}  // namespace onnx_cudnn

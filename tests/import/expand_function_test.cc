#include "runtime/import/expand_function.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// The function of the only Node of `text`, printed.
std::string Expanded(std::string_view text) {
  const Graph graph = GraphFromText(text);
  const Node& node = *graph.TopologicalOrder()[0];
  EXPECT_TRUE(HasFunctionBody(node));
  const absl::StatusOr<Graph> body = ExpandFunction(node);
  if (!body.ok()) return body.status().ToString();
  EXPECT_TRUE(Verify(*body).ok()) << Verify(*body);
  return PrintOnOneLine(*body);
}

TEST(ExpandFunctionTest, NamesNodesAfterTheCall) {
  const Graph graph = GraphFromText("g (float[3] x) => (float[3] y) { [act] y = HardSwish(x) }");
  const absl::StatusOr<Graph> body = ExpandFunction(*graph.TopologicalOrder()[0]);
  ASSERT_TRUE(body.ok()) << body.status();
  for (const Node* node : body->TopologicalOrder()) {
    EXPECT_EQ(node->name(), "act." + node->op());
  }
}

TEST(ExpandFunctionTest, TakesTheAttributesOfTheCall) {
  EXPECT_EQ(Expanded("g (float[3] x) => (float[3] y) { y = ThresholdedRelu<alpha = 0.5>(x) }"),
            "ThresholdedRelu (f32[3] input.0) => (f32[3] y) "
            "{ ThresholdedRelu.1.AlphaCast = CastLike({0.5}, input.0) "
            "ThresholdedRelu.3.ZeroCast = CastLike({0}, input.0) "
            "ThresholdedRelu.4.AlphaLessThanX = Less(ThresholdedRelu.1.AlphaCast, input.0) "
            "y = Where(ThresholdedRelu.4.AlphaLessThanX, input.0, ThresholdedRelu.3.ZeroCast) }");
}

TEST(ExpandFunctionTest, TakesTheDefaultsOfTheSchema) {
  EXPECT_EQ(Expanded("g (float[3] x) => (float[3] y) { y = ThresholdedRelu(x) }"),
            "ThresholdedRelu (f32[3] input.0) => (f32[3] y) "
            "{ ThresholdedRelu.1.AlphaCast = CastLike({1}, input.0) "
            "ThresholdedRelu.3.ZeroCast = CastLike({0}, input.0) "
            "ThresholdedRelu.4.AlphaLessThanX = Less(ThresholdedRelu.1.AlphaCast, input.0) "
            "y = Where(ThresholdedRelu.4.AlphaLessThanX, input.0, ThresholdedRelu.3.ZeroCast) }");
}

TEST(ExpandFunctionTest, RaisesABodyToTheNewestForms) {  // ReduceMean's axes were an attribute
  const std::string body =
      Expanded("g (float[2,3,4,5] x) => (float[2,3,4,5] y) { y = MeanVarianceNormalization(x) }");
  EXPECT_TRUE(absl::StrContains(body, "ReduceMean(input.0, {0, 2, 3})")) << body;
}

TEST(ExpandFunctionTest, BuildsABodyForTheInputsThatAreThere) {
  EXPECT_EQ(Expanded("g (float[3] x, float high) => (float[3] y) { y = Clip(x, , high) }"),
            "Clip (f32[3] input.0, f32[] input.2) => (f32[3] y) "
            "{ Clip.0.input_large_than_max = Less(input.2, input.0) "
            "y = Where(Clip.0.input_large_than_max, input.2, input.0) }");
}

TEST(ExpandFunctionTest, LeavesOutAbsentOutputs) {
  const std::string body = Expanded(
      "g (float[2,4] x, float[4] s) => (float[2,4] y, float[2,1] d) "
      "{ y, , d = LayerNormalization(x, s) }");
  EXPECT_TRUE(absl::StrContains(body, "=> (f32[2,4] y, f32 d)")) << body;
}

TEST(ExpandFunctionTest, TakesOursForAWindow) {
  const std::string body = Expanded(
      "g (int64 n) => (double[k] y) { y = HannWindow<output_datatype = 11, periodic = 0>(n) }");
  EXPECT_TRUE(absl::StrContains(body, "count = Cast<to = 11>(input.0)")) << body;  // ONNX's: 1
  EXPECT_TRUE(absl::StrContains(body, "count, {1}) HannWindow.10.index")) << body;
}

TEST(ExpandFunctionTest, WidensTheShapeOfCenterCropPad) {
  const std::string body = Expanded(
      "g (float[3,4] x) => (float[2,5] y) <int32[2] s = {2, 5}> { y = CenterCropPad(x, s) }");
  EXPECT_TRUE(absl::StrContains(body, "Cast<to = 7>(input.1)")) << body;
}

TEST(ExpandFunctionTest, RefusesAThetaThatDoesNotFitItsSize) {
  EXPECT_EQ(Expanded("g (float[2,2,3] t) => (float[1,2,2,2] y) <int64[4] s = {1, 1, 2, 2}> "
                     "{ y = AffineGrid(t, s) }"),
            "INVALID_ARGUMENT: theta is f32[2,2,3], the size says [1,2,3]");
}

TEST(ExpandFunctionTest, RefusesWhatIsNoTensor) {
  const Type sequence{.kind = Type::Kind::kSequence,
                      .element = std::make_shared<Type>(Type::Tensor(DType::kF32, {2}))};
  Graph graph;
  const Node& node =
      graph.AddNode({.op = "SequenceMap", .inputs = {&graph.AddInput("x", sequence)}});
  EXPECT_TRUE(HasFunctionBody(node));
  const absl::Status status = ExpandFunction(node).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "only tensors are taken")) << status;
}

TEST(ExpandFunctionTest, ReportsOpsWithoutAFunction) {
  const Graph graph = GraphFromText("g (float[3] x) => (float[3] y) { y = Neg(x) }");
  EXPECT_FALSE(HasFunctionBody(*graph.TopologicalOrder()[0]));
}

}  // namespace
}  // namespace onnx_cudnn

// Models written in the opset that they came with.
#include "runtime/import/downgrade.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/print.h"
#include "runtime/import/choose_opset.h"
#include "runtime/import/downgrade_form.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "runtime/import/upgrade_form.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

Graph Loaded(int opset, std::string_view border, std::string_view nodes) {
  auto graph = TryGraphFromText(absl::StrCat("g ", border, " { ", nodes, " }"), opset);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

// The model of `opset` is written in that opset, and reads as the same Graph.
void ExpectKept(int opset, std::string_view border, std::string_view nodes) {
  const Graph graph = Loaded(opset, border, nodes);
  const auto written = WriteModelOf(graph, opset, OpsetRule::kOrLater);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->opset, opset) << written->reason;
  EXPECT_EQ(written->reason, "");
  const absl::StatusOr<Graph> read = LoadModelBytes(written->bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Print(*read), Print(graph));
}

// A Graph of the newest opset, asked for in `opset`, is written in `later`, and why.
void ExpectLater(int opset, std::string_view border, std::string_view nodes, int later,
                 std::string_view reason) {
  const Graph graph = Loaded(kNewestOpset, border, nodes);
  const auto written = WriteModelOf(graph, opset, OpsetRule::kOrLater);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->opset, later);
  EXPECT_EQ(written->reason, reason);
  const absl::StatusOr<Graph> read = LoadModelBytes(written->bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Print(*read), Print(graph));
}

onnx::ModelProto Written(const Graph& graph, int opset) {
  const auto written = WriteModelOf(graph, opset, OpsetRule::kThis);
  EXPECT_TRUE(written.ok()) << written.status();
  onnx::ModelProto model;
  EXPECT_TRUE(written.ok() && model.ParseFromString(written->bytes));
  return model;
}

TEST(DowngradeTest, KeepsTheOpsetWhereTheFormStayed) {
  for (const int opset : {7, 8, 9, 11, 12, 13, 15, 17, 18, 19, 21, 23, 28}) {
    ExpectKept(opset, "(float[1,3,8,8] x, float[4,3,3,3] w, float[4] b) => (float[1,4,8,8] y)",
               "c = Conv<pads = [1, 1, 1, 1]>(x, w, b) r = Relu(c) y = Add(r, r)");
  }
}

TEST(DowngradeTest, WritesTheFileFormatThatCameWithTheOpset) {
  const Graph graph = GraphFromText("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  for (const auto& [opset, ir] : {std::pair(7, 4),
                                  {9, 4},
                                  {10, 5},
                                  {11, 6},
                                  {12, 7},
                                  {14, 7},
                                  {15, 8},
                                  {17, 8},
                                  {19, 9},
                                  {21, 10},
                                  {22, 10},
                                  {23, 11},
                                  {24, 12},
                                  {27, 13},
                                  {28, 14}}) {
    const onnx::ModelProto model = Written(graph, opset);
    EXPECT_EQ(model.ir_version(), ir) << opset;
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).version(), opset);
  }
}

TEST(DowngradeTest, MakesInputsAttributesAgain) {
  const std::string x = "(float[2,1,4] x) => (float[?,?] y)";
  for (const int opset : {7, 11, 12}) {
    ExpectKept(opset, x, "y = Squeeze<axes = [1]>(x)");
    ExpectKept(opset, "(float[2,4] x) => (float[?,?,?] y)", "y = Unsqueeze<axes = [0]>(x)");
    ExpectKept(opset, x, "y = ReduceSum<axes = [2], keepdims = 0>(x)");
    ExpectKept(opset, "(float[2,6] x) => (float[2,2] y, float[2,4] z)",
               "y, z = Split<axis = 1, split = [2, 4]>(x)");
    ExpectKept(opset, "(float[2,6] x) => (float[2,3] y, float[2,3] z)",
               "y, z = Split<axis = 1>(x)");
  }
  for (const int opset : {7, 11, 13, 17}) {
    ExpectKept(opset, x, "y = ReduceMean<axes = [1, 2], keepdims = 0>(x)");
    ExpectKept(opset, x, "y = ReduceMax(x)");
  }
  for (const int opset : {7, 9}) {
    ExpectKept(opset, "(float[4,6] x) => (float[?,?] y)",
               "y = Slice<starts = [1, 0], ends = [3, -1], axes = [0, 1]>(x)");
    ExpectKept(opset, "(float[4,6] x) => (float[4,2] y, int64[4,2] z)", "y, z = TopK<k = 2>(x)");
  }
  for (const int opset : {7, 10}) {
    ExpectKept(opset, "(float[4,6] x) => (float[6,6] y)", "y = Pad<pads = [1, 0, 1, 0]>(x)");
    ExpectKept(opset, "(float[4,6] x) => (float[6,6] y)",
               "y = Pad<pads = [1, 0, 1, 0], value = 0.5>(x)");
    ExpectKept(opset, "(float[4,6] x) => (float[4,6] y)", "y = Clip<min = 0.0, max = 6.0>(x)");
    ExpectKept(opset, "(float[4,6] x) => (float[4,6] y)", "y = Clip(x)");
    ExpectKept(opset, "(float16[4,6] x) => (float16[4,6] y)", "y = Clip<min = -2.5>(x)");
  }
  ExpectKept(17, "(float[1,8,1] x) => (float[1,8,2] y)", "y = DFT<axis = 1>(x)");
}

TEST(DowngradeTest, DropsConstantsThatBecameAttributes) {
  const onnx::ModelProto model =
      Written(Loaded(11, "(float[2,1] x) => (float[2] y)", "y = Squeeze<axes = [1]>(x)"), 11);
  EXPECT_EQ(model.graph().initializer_size(), 0);
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).input_size(), 1);
  ASSERT_EQ(model.graph().node(0).attribute_size(), 1);
  EXPECT_EQ(model.graph().node(0).attribute(0).ints(0), 1);
}

TEST(DowngradeTest, NeedsALaterOpsetForWhatIsNotConstant) {
  ExpectLater(11, "(float[2,1] x, int64[1] axes) => (float[?] y)", "y = Squeeze(x, axes)", 13,
              "node (Squeeze): opset 12 takes \"axes\" as an attribute, here it is no constant");
  ExpectLater(9, "(float[4] x, float low) => (float[4] y)", "y = Clip(x, low)", 11,
              "node (Clip): opset 10 takes \"min\" as an attribute, here it is no constant");
}

TEST(DowngradeTest, KeepsBatchNormalizationForInference) {
  const std::string border =
      "(float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y)";
  for (const int opset : {7, 9, 13, 14, 15}) {
    ExpectKept(opset, border, "y = BatchNormalization<epsilon = 0.5>(x, s, b, m, v)");
  }
  ExpectLater(13, border, "y, a, c = BatchNormalization<training_mode = 1>(x, s, b, m, v)", 14,
              "node (BatchNormalization): opset 13 has no attribute \"training_mode\"");
}

TEST(DowngradeTest, KeepsDropout) {
  for (const int opset : {7, 10, 11}) {
    ExpectKept(opset, "(float[2] x) => (float[2] y)", "y = Dropout<ratio = 0.25>(x)");
  }
  ExpectLater(9, "(float[2] x) => (float[2] y, bool[2] m)", "y, m = Dropout(x)", 10,
              "node (Dropout): opset 9 has a \"mask\" of another type");
}

TEST(DowngradeTest, KeepsASoftmaxOfTheLastAxis) {
  for (const int opset : {7, 11, 12}) {
    ExpectKept(opset, "(float[2,3] x) => (float[2,3] y)", "y = Softmax(x)");
    ExpectKept(opset, "(float[2,3,4] x) => (float[2,3,4] y)", "y = LogSoftmax<axis = 2>(x)");
    ExpectKept(opset, "(float[2,3,1,1] x) => (float[2,3,1,1] y)", "y = Softmax<axis = 1>(x)");
  }
  ExpectLater(11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Softmax<axis = 1>(x)", 13,
              "node (Softmax): opset 12 takes all axes from \"axis\" on together");
}

// The Flatten, Softmax and Reshape that it becomes; allowzero says nothing about a known shape.
TEST(DowngradeTest, KeepsASoftmaxOfAMatrix) {
  const onnx::ModelProto model =
      Written(Loaded(11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Softmax<axis = 1>(x)"), 11);
  ASSERT_EQ(model.graph().node_size(), 3);
  EXPECT_EQ(model.graph().node(2).op_type(), "Reshape");
  EXPECT_EQ(model.graph().node(2).attribute_size(), 0);
}

TEST(DowngradeTest, KeepsResizesAndUpsamples) {
  const std::string border = "(float[1,1,2,2] x) => (float[1,1,4,6] y)";
  const std::string scales = " <float[4] s = {1, 1, 2, 3}>";
  ExpectKept(7, border, "y = Upsample<scales = [1.0, 1.0, 2.0, 3.0]>(x)");
  ExpectKept(8, border, "y = Upsample<mode = \"linear\", scales = [1.0, 1.0, 2.0, 3.0]>(x)");
  ExpectKept(9, border + scales, "y = Upsample(x, s)");
  ExpectKept(10, border + scales, "y = Resize<mode = \"linear\">(x, s)");
  ExpectKept(10, border + scales, "y = Resize(x, s)");
  ExpectKept(10, "(float[1,1,4,6] x) => (float[1,1,2,3] y) <float[4] s = {1, 1, 0.5, 0.5}>",
             "y = Resize(x, s)");
  for (const int opset : {11, 12}) {
    ExpectKept(opset, border + " <float[4] s = {1, 1, 2, 3}, float[0] r = {}>",
               "y = Resize<mode = \"linear\">(x, r, s)");
    ExpectKept(opset, border + " <int64[4] z = {1, 1, 4, 6}, float[0] r = {}>",
               "y = Resize<mode = \"cubic\">(x, r, r, z)");
  }
  ExpectKept(18, border + " <int64[2] z = {4, 6}>",
             "y = Resize<mode = \"linear\", antialias = 1, axes = [2, 3]>(x, \"\", \"\", z)");
}

TEST(DowngradeTest, NeedsALaterOpsetForALaterResize) {
  const std::string border = "(float[1,1,2,2] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 3}>";
  ExpectLater(7, border, "y = Resize<mode = \"linear\">(x, \"\", s)", 11,
              "node (Resize): opset 10 computes coordinates only from constant scales, in another "
              "way");
  ExpectLater(11, border, "y = Resize<mode = \"linear\", antialias = 1>(x, \"\", s)", 18,
              "node (Resize): opset 17 has another form of it: the op has no attribute "
              "\"antialias\"");
  ExpectLater(17, border,
              "y = Resize<mode = \"linear\", coordinate_transformation_mode = "
              "\"half_pixel_symmetric\">(x, \"\", s)",
              19, "node (Resize): opset 18 has no mode \"half_pixel_symmetric\"");
  ExpectLater(9, "(float[1,1,4,6] x) => (float[1,1,2,3] y) <float[4] s = {1, 1, 0.5, 0.5}>",
              "y = Resize<mode = \"linear\", coordinate_transformation_mode = \"asymmetric\">(x, "
              "\"\", s)",
              10, "node (Resize): opset 9 has only Upsample, which does not shrink");
}

TEST(DowngradeTest, KeepsOtherFormsThatChanged) {
  ExpectKept(16, "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)",
             "y = GridSample<mode = \"bicubic\">(x, g)");
  ExpectKept(10, "(float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y)",
             "y = RoiAlign(x, r, b)");
  ExpectKept(9, "(float[3,3] x, int64[1,3] i, float[1,3] u) => (float[3,3] y)",
             "y = Scatter<axis = 1>(x, i, u)");
  ExpectKept(13, "(float[3,3] x, int64[1,3] i, float[1,3] u) => (float[3,3] y)",
             "y = ScatterElements<axis = 1>(x, i, u)");
  ExpectKept(13, "(float[3,3] x) => (float y)", "y = ReduceLogSumExp<keepdims = 0>(x)");
  ExpectKept(10, "(uint8[3,3] x, float s, uint8 z) => (float[3,3] y)",
             "y = DequantizeLinear(x, s, z)");
}

TEST(DowngradeTest, NeedsALaterOpsetForLaterMeanings) {
  ExpectLater(7, "(float[2,3] x, float[3] z) => (float[2,3] y)", "y = Max(x, z)", 8,
              "node (Max): opset 7 does not broadcast");
  ExpectLater(10, "(float[2,3] x, float[3] s) => (uint8[2,3] y)", "y = QuantizeLinear(x, s)", 13,
              "node (QuantizeLinear): opset 12 takes one scale for all elements");
  ExpectLater(13, "(float[2,3] x, int64[2] p) => (float[?,?] y)", "y = Pad<mode = \"wrap\">(x, p)",
              19, "node (Pad): opset 18 has no mode \"wrap\"");
  ExpectLater(16, "(float[3] x, int64[1,1] i, float[1] u) => (float[3] y)",
              "y = ScatterND<reduction = \"max\">(x, i, u)", 18,
              "node (ScatterND): opset 17 has no reduction \"max\"");
  ExpectLater(11, "(float[2,3] x, int64[2] s) => (float[?,?] y)",
              "y = Reshape<allowzero = 1>(x, s)", 14,
              "node (Reshape): opset 13 has no attribute \"allowzero\"");
  ExpectLater(13, "(float[7] x) => (float[?] y, float[?] z)", "y, z = Split<num_outputs = 2>(x)",
              18, "node (Split): opset 17 needs to know that the parts are equal");
}

TEST(DowngradeTest, NeedsALaterOpsetForLaterOpsAndTypes) {
  ExpectLater(11, "(float[2,4] x, float[4] s) => (float[2,4] y)", "y = LayerNormalization(x, s)",
              17, "node (LayerNormalization): opset 16 has no such op");
  ExpectLater(11, "(bfloat16[2] x) => (bfloat16[2] y)", "y = Relu(x)", 13,
              "node (Relu): opset 12 does not take tensor(bfloat16) as input 0");
  ExpectLater(11, "(float[2] x) => (bfloat16[2] y)", "y = Cast<to = 16>(x)", 13,
              "node (Cast): opset 12 does not take tensor(bfloat16) as output 0");
  ExpectLater(7, "(float[2] x, float[2] z) => (float[2] y)", "c = Less(x, z) y = Where(c, x, z)", 9,
              "node (Where): opset 8 has no such op");
  ExpectLater(12, "(bfloat16[2] x) => (bfloat16[2] y)", "y = Identity(x)", 13,
              "node (Identity): opset 12 does not take tensor(bfloat16) as input 0");
}

TEST(DowngradeTest, WritesLaterAttributesOnlyWhereTheySayMore) {
  for (const std::string attributes : {"", "<select_last_index = 0>"}) {
    const onnx::ModelProto model = Written(Loaded(kNewestOpset, "(float[2,3] x) => (int64[1,3] y)",
                                                  absl::StrCat("y = ArgMax", attributes, "(x)")),
                                           11);
    EXPECT_EQ(model.graph().node(0).attribute_size(), 0);
  }
  ExpectLater(11, "(float[2,3] x) => (int64[1,3] y)", "y = ArgMax<select_last_index = 1>(x)", 12,
              "node (ArgMax): opset 11 has another form of it: the op has no attribute "
              "\"select_last_index\"");
}

TEST(DowngradeTest, CountsAxesFromTheFirstBefore11) {
  const onnx::ModelProto model = Written(
      Loaded(kNewestOpset, "(float[2,3] x, float[2,3] z) => (float[1,2,6] y)",
             "c = Concat<axis = -1>(x, z) y = Unsqueeze(c, a) a = Constant<value = int64[1] "
             "{-3}>()"),
      10);
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).attribute(0).i(), 1);
  EXPECT_EQ(model.graph().node(1).attribute(0).ints(0), 0);
}

TEST(DowngradeTest, WritesBodiesInTheSameOpset) {
  const std::string text = R"(
      y = If<then_branch = th () => (float[2] u) { a = Squeeze<axes = [0]>(x) u = Relu(a) },
             else_branch = el () => (float[2] v) { b = Squeeze<axes = [0]>(x) v = Neg(b) }>(c))";
  ExpectKept(11, "(bool c, float[1,2] x) => (float[2] y)", text);
  ExpectLater(11, "(bool c, float[2] x) => (float[2] y)",
              "y = If<then_branch = th () => (float[2] u) { u = Gelu(x) }, else_branch = el () => "
              "(float[2] v) { v = Neg(x) }>(c)",
              20, "node (Gelu): opset 19 has no such op");
}

TEST(DowngradeTest, NamesTheOpThatNeedsMoreThanTheOpsetAskedFor) {
  const Graph graph = Loaded(kNewestOpset, "(float[2,4] x, float[4] s) => (float[2,4] y)",
                             "[\"ln\"] y = LayerNormalization(x, s)");
  EXPECT_EQ(WriteModelOf(graph, 13, OpsetRule::kThis).status().ToString(),
            "UNIMPLEMENTED: cannot be written in opset 13, needs 17: node \"ln\" "
            "(LayerNormalization): opset 16 has no such op");
  EXPECT_EQ(WriteModelOf(graph, 17, OpsetRule::kThis)->opset, 17);
}

TEST(DowngradeTest, AnIdentityOfAnOutputNeedsItsType) {
  const Graph graph = Loaded(13, "(bfloat16[2] x) => (bfloat16[2] y)", "y = Identity(x)");
  Graph direct;
  Value& x = direct.AddInput("x", graph.inputs()[0]->type());
  direct.AddOutput("y", x);
  EXPECT_EQ(ChooseOpset(direct, 9).opset, 13);
  EXPECT_EQ(ChooseOpset(direct, 9).reason,
            "output \"y\": opset 12 has no Identity of tensor(bfloat16)");
}

// Every change of form has its inverse, or is listed here as one that has none.
TEST(DowngradeTest, EveryUpgradeHasItsInverse) {
  std::vector<std::string> without;
  for (const UpgradeRow& row : UpgradeRows()) {
    const auto rows = DowngradeRows();
    const bool has = std::any_of(rows.begin(), rows.end(), [&](const DowngradeRow& other) {
      return other.op == row.op && other.version == row.version;
    });
    if (!has && row.version > 7) without.push_back(absl::StrCat(row.op, " ", row.version));
  }
  // Scatter and Upsample are those of ScatterElements and Resize.
  EXPECT_EQ(without, (std::vector<std::string>{"GroupNormalization 21", "Scan 9", "Scatter 11",
                                               "Upsample 10"}));
}

}  // namespace
}  // namespace onnx_cudnn

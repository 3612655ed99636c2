#include "runtime/import/upgrade.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "tests/import/upgraded.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

TEST(UpgradeTest, ChangesTheNumberAloneWhereTheMeaningStayed) {
  ExpectNodes(6, "(float[2] x) => (float[2] y)", "y = Relu(x)", {"y = Relu(x)"});
  ExpectNodes(8, "(float[2] x, float[2] z) => (float[2] y)", "y = Add(x, z)", {"y = Add(x, z)"});
}

TEST(UpgradeTest, AlignsALegacyBroadcastAtItsAxis) {
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    ExpectNodes(6, "(float[2,3,4,5] x, float[3,4] z) => (float[2,3,4,5] y)",
                absl::StrCat("y = ", op, "<broadcast = 1, axis = 1>(x, z)"),
                {"z_0 = Unsqueeze(z, {2})", absl::StrCat("y = ", op, "(x, z_0)")});
  }
  for (const std::string op : {"And", "Or", "Xor"}) {
    ExpectNodes(6, "(bool[2,3] x, bool[2] z) => (bool[2,3] y)",
                absl::StrCat("y = ", op, "<broadcast = 1, axis = 0>(x, z)"),
                {"z_0 = Unsqueeze(z, {1})", absl::StrCat("y = ", op, "(x, z_0)")});
  }
  for (const std::string op : {"Greater", "Less"}) {
    ExpectNodes(6, "(float[2,3] x, float[2] z) => (bool[2,3] y)",
                absl::StrCat("y = ", op, "<broadcast = 1, axis = -2>(x, z)"),
                {"z_0 = Unsqueeze(z, {1})", absl::StrCat("y = ", op, "(x, z_0)")});
  }
  ExpectNodes(6, "(int32[2,3] x, int32[2] z) => (bool[2,3] y)",
              "y = Equal<broadcast = 1, axis = 0>(x, z)",
              {"z_0 = Unsqueeze(z, {1})", "y = Equal(x, z_0)"});
}

TEST(UpgradeTest, LeavesALegacyBroadcastOfTheLastDimsAlone) {
  ExpectNodes(6, "(float[2,3,4] x, float[4] z) => (float[2,3,4] y)", "y = Add<broadcast = 1>(x, z)",
              {"y = Add(x, z)"});
  ExpectNodes(6, "(float[2,3,4] x, float[3,4] z) => (float[2,3,4] y)",
              "y = Add<broadcast = 1, axis = 1>(x, z)", {"y = Add(x, z)"});
}

TEST(UpgradeTest, RefusesALegacyBroadcastThatDoesNotFit) {
  ExpectRefusal(6, "(float[2,3] x, float[3,1] z) => (float[2,3] y)",
                "y = Add<broadcast = 1, axis = 1>(x, z)", absl::StatusCode::kInvalidArgument,
                "node (Add): axis 1 does not fit input 1 of rank 2 into input 0 of rank 2");
  ExpectRefusal(6, "(float[2,3] x, float[] z) => (float[2,3] y)",
                "y = Add<broadcast = 1, axis = 1>(x, z)", absl::StatusCode::kUnimplemented,
                "node (Add): Add (opset 6) on f32: attribute \"axis\" needs inputs of known rank");
}

TEST(UpgradeTest, DropsGemmsBroadcast) {
  ExpectNodes(6, "(float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y)",
              "y = Gemm<broadcast = 1>(a, b, c)", {"y = Gemm(a, b, c)"});
}

TEST(UpgradeTest, GivesPReluASlopePerChannel) {
  ExpectNodes(6, "(float[2,3,4,5] x, float[3] s) => (float[2,3,4,5] y)", "y = PRelu(x, s)",
              {"s_0 = Unsqueeze(s, {1, 2})", "y = PRelu(x, s_0)"});
  ExpectNodes(6, "(float[2,3,4,5] x, float[1] s) => (float[2,3,4,5] y)", "y = PRelu(x, s)",
              {"y = PRelu(x, s)"});
}

TEST(UpgradeTest, SetsTrainingModeOfBatchNormalization) {
  const std::string border =
      "(float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y)";
  ExpectNodes(6, border, "y = BatchNormalization<is_test = 1, epsilon = 0.5>(x, s, b, m, v)",
              {"y = BatchNormalization<epsilon = 0.5>(x, s, b, m, v)"});
  ExpectNodes(
      6, border, "y = BatchNormalization(x, s, b, m, v)",
      {"y, batchnormalization, batchnormalization_0 = BatchNormalization<training_mode = 1>(x, "
       "s, b, m, v)"});
  ExpectNodes(8, border, "y = BatchNormalization<spatial = 1>(x, s, b, m, v)",
              {"y = BatchNormalization(x, s, b, m, v)"});
  ExpectNodes(9, border, "y, nm, nv = BatchNormalization(x, s, b, m, v)",
              {"y, nm, nv = BatchNormalization<training_mode = 1>(x, s, b, m, v)"});
  ExpectRefusal(
      8, border, "y = BatchNormalization<spatial = 0>(x, s, b, m, v)",
      absl::StatusCode::kUnimplemented,
      "node (BatchNormalization): BatchNormalization (opset 8) on f32: attribute \"spatial\" = 0");
  ExpectNodes(9, border, "y, nm, nv, sm, sv = BatchNormalization(x, s, b, m, v)",
              {"y, nm, nv = BatchNormalization<training_mode = 1>(x, s, b, m, v)"});
  ExpectRefusal(9, border, "t, nm, nv, sm, sv = BatchNormalization(x, s, b, m, v) y = Mul(t, sv)",
                absl::StatusCode::kUnimplemented,
                "BatchNormalization (opset 9) on f32: outputs \"saved_mean\"");
}

TEST(UpgradeTest, MakesDropoutsRatioAnInput) {
  ExpectNodes(9, "(float[2] x) => (float[2] y)", "y = Dropout<ratio = 0.25>(x)",
              {"y = Dropout(x, {0.25})"});
  ExpectNodes(6, "(float[2] x) => (float[2] y)", "y = Dropout<is_test = 1>(x)", {"y = Dropout(x)"});
  ExpectNodes(6, "(float[2] x) => (float[2] y)", "y = Dropout(x)", {"y = Dropout(x, \"\", {1})"});
}

TEST(UpgradeTest, KeepsTheTypeOfDropoutsOldMask) {
  ExpectNodes(7, "(float[2] x) => (float[2] y, float[2] m)", "y, m = Dropout(x)",
              {"y, dropout = Dropout(x)", "m = Cast<to = 1>(dropout)"});
  ExpectNodes(10, "(float[2] x) => (float[2] y, bool[2] m)", "y, m = Dropout(x)",
              {"y, m = Dropout(x)"});
}

TEST(UpgradeTest, DropsOutputSequenceOfRecurrentOps) {
  for (const auto& [op, gates] : {std::pair("RNN", 1), {"GRU", 3}, {"LSTM", 4}}) {
    ExpectNodes(6,
                absl::StrCat("(float[5,2,3] x, float[1,", 4 * gates, ",3] w, float[1,", 4 * gates,
                             ",4] r) => (float[5,1,2,4] y)"),
                absl::StrCat("y = ", op, "<hidden_size = 4, output_sequence = 1>(x, w, r)"),
                {absl::StrCat("y = ", op, "<hidden_size = 4>(x, w, r)")});
  }
}

TEST(UpgradeTest, MakesUpsampleAResizeThatRoundsDown) {
  const std::string resize =
      "y = Resize<coordinate_transformation_mode = \"asymmetric\", mode = \"nearest\", "
      "nearest_mode = \"floor\">(x, \"\", {1, 1, 2, 3})";
  const std::string border = "(float[1,1,2,2] x) => (float[1,1,4,6] y)";
  ExpectNodes(6, border, "y = Upsample<height_scale = 2.0, width_scale = 3.0>(x)", {resize});
  ExpectNodes(7, border, "y = Upsample<scales = [1.0, 1.0, 2.0, 3.0]>(x)", {resize});
  ExpectNodes(9, "(float[1,1,2,2] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 3}>",
              "y = Upsample(x, s)", {resize});
  ExpectNodes(6, border,
              "y = Upsample<mode = \"bilinear\", height_scale = 2.0, width_scale = 3.0>(x)",
              {"y = Resize<coordinate_transformation_mode = \"asymmetric\", mode = \"linear\">(x, "
               "\"\", {1, 1, 2, 3})"});
}

TEST(UpgradeTest, RoundsResizeOfOpset10ByItsDirection) {
  const std::string start =
      " = Resize<coordinate_transformation_mode = \"asymmetric\", mode = \"nearest\", "
      "nearest_mode = ";
  ExpectNodes(10, "(float[1,1,2,4] x) => (float[1,1,1,2] y) <float[4] s = {1, 1, 0.5, 0.5}>",
              "y = Resize(x, s)",
              {absl::StrCat("y", start, "\"ceil\">(x, \"\", {1, 1, 0.5, 0.5})")});
  ExpectNodes(10, "(float[1,1,2,4] x, float[4] s) => (float[?,?,?,?] y)", "y = Resize(x, s)",
              {"max = Max(s, {1})", "min = Min(s, {1})",
               absl::StrCat("resize", start, "\"floor\">(x, \"\", max)"),
               absl::StrCat("y", start, "\"ceil\">(resize, \"\", min)")});
}

TEST(UpgradeTest, DropsEmptyInputsOfResize) {
  const std::string resized = "y = Resize<mode = \"linear\">(x, \"\", \"\", {1, 1, 4, 4})";
  ExpectNodes(
      11, "(float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] r = {}, int64[4] n = {1, 1, 4, 4}>",
      "y = Resize<mode = \"linear\">(x, r, r, n)", {resized});
  ExpectNodes(11,
              "(float[1,1,2,2] x, float[0] r, float[0] s) => (float[1,1,4,4] y) "
              "<int64[4] n = {1, 1, 4, 4}>",
              "y = Resize<mode = \"linear\">(x, r, s, n)", {resized});
}

TEST(UpgradeTest, TakesSizesForScalesOfUnknownLengthBeforeOpset13) {
  const std::string border =
      "(float[1,1,2,2] x, float[k] s) => (float[1,1,4,4] y) <float[0] r = {}, int64[4] n = {1, 1, "
      "4, 4}>";
  ExpectNodes(11, border, "y = Resize(x, r, s, n)", {"y = Resize(x, \"\", \"\", {1, 1, 4, 4})"});
  ExpectRefusal(13, border, "y = Resize(x, r, s, n)", absl::StatusCode::kInvalidArgument,
                "Either `sizes` or `scales` must be provided, but not both of them");
}

TEST(UpgradeTest, KeepsTheHalfPixelOfNearestOfResize11) {
  const std::string attr = "<coordinate_transformation_mode = \"tf_half_pixel_for_nn\">";
  ExpectNodes(
      11, "(float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] r = {}, float[4] s = {1, 1, 2, 2}>",
      absl::StrCat("y = Resize", attr, "(x, r, s)"),
      {absl::StrCat("y = Resize", attr, "(x, \"\", {1, 1, 2, 2})")});
}

TEST(UpgradeTest, MakesAttributesInputs) {
  ExpectNodes(9, "(float[4,4] x) => (float[2,4] y)",
              "y = Slice<starts = [1], ends = [3], axes = [0]>(x)",
              {"y = Slice(x, {1}, {3}, {0})"});
  ExpectNodes(9, "(float[4] x) => (float[2] y, int64[2] i)", "y, i = TopK<k = 2, axis = 0>(x)",
              {"y, i = TopK<axis = 0>(x, {2})"});
  ExpectNodes(10, "(float[4] x) => (float[8] y)", "y = Pad<pads = [1, 3], value = 2.0>(x)",
              {"y = Pad(x, {1, 3}, {2})"});
  ExpectNodes(10, "(float[4] x) => (float[8] y)",
              "y = Pad<pads = [1, 3], mode = \"edge\", value = 2.0>(x)",
              {"y = Pad<mode = \"edge\">(x, {1, 3})"});
  ExpectNodes(12, "(float[4,1] x) => (float[4] y)", "y = Squeeze<axes = [1]>(x)",
              {"y = Squeeze(x, {1})"});
  ExpectNodes(12, "(float[4,1] x) => (float[4] y)", "y = Squeeze(x)", {"y = Squeeze(x)"});
  ExpectNodes(12, "(float[4] x) => (float[4,1] y)", "y = Unsqueeze<axes = [1]>(x)",
              {"y = Unsqueeze(x, {1})"});
  ExpectNodes(12, "(float[4] x) => (float[1] y)", "y = ReduceSum<axes = [0]>(x)",
              {"y = ReduceSum(x, {0})"});
  ExpectNodes(17, "(float[2,8,1] x) => (float[2,8,2] y)", "y = DFT(x)", {"y = DFT(x, \"\", {1})"});
}

TEST(UpgradeTest, MakesAxesOfReductionsAnInput) {
  for (const std::string op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    ExpectNodes(13, "(float[4,3] x) => (float[4] y)",
                absl::StrCat("y = ", op, "<axes = [1], keepdims = 0>(x)"),
                {absl::StrCat("y = ", op, "<keepdims = 0>(x, {1})")});
  }
}

TEST(UpgradeTest, CastsIntegersWhereTheNewestReductionTakesFloats) {
  ExpectNodes(18, "(int32[4] x) => (int32[1] y)", "y = ReduceLogSum(x)",
              {"cast = Cast<to = 11>(x)", "reducelogsum = ReduceLogSum(cast)",
               "y = Cast<to = 6>(reducelogsum)"});
  ExpectNodes(
      13, "(uint64[4,2] x) => (uint64[4] y)", "y = ReduceLogSumExp<axes = [1], keepdims = 0>(x)",
      {"cast = Cast<to = 11>(x)", "reducelogsumexp = ReduceLogSumExp<keepdims = 0>(cast, {1})",
       "y = Cast<to = 13>(reducelogsumexp)"});
}

TEST(UpgradeTest, GivesClipBoundsOfItsType) {
  ExpectNodes(10, "(float[4] x) => (float[4] y)", "y = Clip<min = 0.0, max = 6.0>(x)",
              {"y = Clip(x, {0}, {6})"});
  ExpectNodes(10, "(float16[4] x) => (float16[4] y)", "y = Clip<max = 6.0>(x)",
              {"y = Clip(x, \"\", {6})"});
  const std::string most = "3.4028234663852886e+38";
  ExpectNodes(6, "(double[4] x) => (double[4] y)", "y = Clip(x)",
              {"y = Clip(x, {-" + most + "}, {" + most + "})"});
  ExpectNodes(6, "(float[4] x) => (float[4] y)", "y = Clip<min = 0.0>(x)",
              {"y = Clip(x, {0}, {3.4028235e+38})"});
}

TEST(UpgradeTest, SetsNumOutputsOfSplit) {
  const std::string border = "(float[6] x) => (float[3] y, float[3] z)";
  ExpectNodes(11, border, "y, z = Split(x)", {"y, z = Split<num_outputs = 2>(x)"});
  ExpectNodes(11, border, "y, z = Split<split = [3, 3]>(x)", {"y, z = Split(x, {3, 3})"});
  ExpectNodes(13, "(float[6] x, int64[2] s) => (float[?] y, float[?] z)", "y, z = Split(x, s)",
              {"y, z = Split(x, s)"});
}

TEST(UpgradeTest, FlattensForOldSoftmax) {
  for (const std::string op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    ExpectNodes(
        11, "(float[2,3,4] x) => (float[2,3,4] y)", absl::StrCat("y = ", op, "(x)"),
        {"flatten = Flatten<axis = 1>(x)",
         absl::StrCat(absl::AsciiStrToLower(op), " = ", op, "<axis = 1>(flatten)"),
         absl::StrCat("y = Reshape<allowzero = 1>(", absl::AsciiStrToLower(op), ", {2, 3, 4})")});
  }
  ExpectNodes(9, "(float[N,3,4] x) => (float[N,3,4] y)", "y = Softmax(x)",
              {"flatten = Flatten<axis = 1>(x)", "softmax = Softmax<axis = 1>(flatten)",
               "shape = Shape(x)", "y = Reshape<allowzero = 1>(softmax, shape)"});
}

TEST(UpgradeTest, KeepsOldSoftmaxOverOneDim) {
  ExpectNodes(9, "(float[N,10] x) => (float[N,10] y)", "y = Softmax(x)",
              {"y = Softmax<axis = 1>(x)"});
  ExpectNodes(11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Softmax<axis = -1>(x)",
              {"y = Softmax<axis = 2>(x)"});
  ExpectNodes(9, "(float[N,10,1,1] x) => (float[N,10,1,1] y)", "y = Softmax(x)",
              {"y = Softmax<axis = 1>(x)"});
  ExpectRefusal(9, "(float[10] x) => (float[10] y)", "y = Softmax(x)",
                absl::StatusCode::kInvalidArgument, "axis 1 is outside rank 1");
}

TEST(UpgradeTest, RenamesAndRewordsOps) {
  ExpectNodes(10, "(float[3] x, int64[1] i, float[1] u) => (float[3] y)",
              "y = Scatter<axis = 0>(x, i, u)", {"y = ScatterElements<axis = 0>(x, i, u)"});
  ExpectNodes(10, "(float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y)",
              "y = RoiAlign(x, r, b)",
              {"y = RoiAlign<coordinate_transformation_mode = \"output_half_pixel\">(x, r, b)"});
  ExpectNodes(16, "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)",
              "y = GridSample<mode = \"bicubic\">(x, g)",
              {"y = GridSample<mode = \"cubic\">(x, g)"});
}

TEST(UpgradeTest, GivesGroupNormalizationNumbersPerChannel) {
  ExpectNodes(18, "(float[1,6,2] x, float[2] s, float[2] b) => (float[1,6,2] y)",
              "y = GroupNormalization<num_groups = 2>(x, s, b)",
              {"unsqueeze = Unsqueeze(s, {1})", "expand = Expand(unsqueeze, {2, 3})",
               "reshape = Reshape(expand, {6})", "unsqueeze_3 = Unsqueeze(b, {1})",
               "expand_5 = Expand(unsqueeze_3, {2, 3})", "reshape_7 = Reshape(expand_5, {6})",
               "y = GroupNormalization<num_groups = 2>(x, reshape, reshape_7)"});
  ExpectRefusal(
      18, "(float[1,C,2] x, float[2] s, float[2] b) => (float[1,C,2] y)",
      "y = GroupNormalization<num_groups = 2>(x, s, b)", absl::StatusCode::kUnimplemented,
      "GroupNormalization (opset 18) on f32: attribute \"num_groups\" needs a known channel count");
}

// A Scan over the batch whose body is the Scan of one element.
TEST(UpgradeTest, ScansEachElementOfABatch) {
  const std::string border = "(float[4,2] i, float[4,3,2] x) => (float[4,2] y, float[4,3,2] z)";
  const std::string body =
      "directions = [1], body = b (float[2] si, float[2] xi) => (float[2] so, float[2] zo)"
      " { so = Add(si, xi) zo = Identity(so) }>";
  const absl::StatusOr<Graph> graph = TryGraphFromText(
      absl::StrCat("g ", border, " { y, z = Scan<num_scan_inputs = 1, ", body, "(\"\", i, x) }"),
      8);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(Verify(*graph).ok()) << Verify(*graph);
  const Node& outer = *graph->TopologicalOrder()[0];
  EXPECT_EQ(outer.attrs().Int("num_scan_inputs", 0), 2);
  EXPECT_FALSE(outer.attrs().Has("scan_input_directions"));
  EXPECT_EQ(ToString(outer.output(0).type()), "f32[4,2]");
  EXPECT_EQ(ToString(outer.output(1).type()), "f32[4,3,2]");
  const Graph& element = *outer.bodies().at("body");
  const Node& inner = *element.TopologicalOrder()[0];
  EXPECT_EQ(inner.op(), "Scan");
  EXPECT_EQ(inner.attrs().Int("num_scan_inputs", 0), 1);
  EXPECT_EQ(inner.attrs().Ints("scan_input_directions"), std::vector<int64_t>{1});
  EXPECT_EQ(ToString(element.inputs()[1]->type()), "f32[3,2]");
  ExpectRefusal(8, "(int64[4] n, float[4,2] i, float[4,3,2] x) => (float[4,2] y, float[4,3,2] z)",
                absl::StrCat("y, z = Scan<num_scan_inputs = 1, ", body, "(n, i, x)"),
                absl::StatusCode::kUnimplemented, "\"sequence_lens\" has no newer form");
  ExpectRefusal(8, "(float i, float[3] x) => (float y, float[3] z)",
                absl::StrCat("y, z = Scan<num_scan_inputs = 1, ", body, "(\"\", i, x)"),
                absl::StatusCode::kInvalidArgument, "i has no batch dim");
}

TEST(UpgradeTest, RefusesWhatTheSchemaLacks) {
  const std::string border = "(float[2] x) => (float[2] y)";
  const auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectRefusal(11, border, "y = Nonsense(x)", invalid, "node (Nonsense): opset 11 has no such op");
  ExpectRefusal(11, border, "y = Scatter(x, x, x)", invalid, "opset 11 has no such op");
  ExpectRefusal(11, border, "y = Relu(x, x)", invalid, "has 2 inputs, the op has 1");
  ExpectRefusal(11, border, "y = Relu<alpha = 1.0>(x)", invalid,
                "the op has no attribute \"alpha\"");
  ExpectRefusal(11, border, "y = Elu<alpha = 1>(x)", invalid, "attribute \"alpha\" is of type INT");
  ExpectRefusal(11, border, "y = Cast(x)", invalid, "attribute \"to\" is missing");
  ExpectRefusal(11, border, "y = Add(\"\", x)", invalid, "input 0 (A) is missing");
}

}  // namespace
}  // namespace onnx_cudnn

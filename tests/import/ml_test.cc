// The domain ai.onnx.ml: import, types, and files that are written.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

std::string Text(int opset, std::string_view graph) {
  return absl::StrCat("<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : ", opset, "]>\n",
                      graph);
}

Graph Imported(int opset, std::string_view text) {
  Graph graph = GraphFromText(Text(opset, text));
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  return graph;
}

void ExpectRefusal(int opset, std::string_view text, absl::StatusCode code,
                   std::string_view words) {
  const absl::Status status = TryGraphFromText(Text(opset, text)).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), words)) << status;
}

constexpr std::string_view kBinarizer =
    "g (float[N,3] x) => (float[N,3] y) { y = ai.onnx.ml.Binarizer<threshold = 1.5>(x) }";

TEST(MlImportTest, TakesOpsets1To5) {
  EXPECT_EQ(Print(Imported(1, kBinarizer)),
            "g (f32[N,3] x) => (f32[N,3] y) {\n"
            "  y = ai.onnx.ml.Binarizer<threshold = 1.5>(x)\n"
            "}\n");
  ExpectRefusal(6, kBinarizer, absl::StatusCode::kUnimplemented,
                "ai.onnx.ml.Binarizer (opset 6) on f32: opsets 1 to 5 are taken");
  ExpectRefusal(3, "g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Relu(x) }",
                absl::StatusCode::kInvalidArgument,
                "opset 3 has no such op in domain \"ai.onnx.ml\"");
  ExpectRefusal(3, "g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer<bias = 1.5>(x) }",
                absl::StatusCode::kInvalidArgument, "the op has no attribute \"bias\"");
}

TEST(MlImportTest, AWrittenFileKeepsTheOpsetOfTheDomain) {
  const Graph graph = Imported(2, kBinarizer);
  const auto written = WriteModelOf(graph, 20, OpsetRule::kThis);
  ASSERT_TRUE(written.ok()) << written.status();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(written->bytes));
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "ai.onnx.ml");
  EXPECT_EQ(model.opset_import(1).version(), 2);
  const auto read = LoadModelBytes(written->bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Print(*read), Print(graph));
}

// Only the LabelEncoder needs strings.
TEST(MlImportTest, StringLabelsBecomeALabelEncoder) {
  const std::string_view text = R"(
      g (float[N,1] x) => (string[N] y, float[N,2] z) {
        y, z = ai.onnx.ml.LinearClassifier<coefficients = [1.0], intercepts = [0.5],
                                           classlabels_strings = ["a", "b"]>(x)
      })";
  const std::string classifier =
      "ai.onnx.ml.LinearClassifier<classlabels_ints = [0, 1], coefficients = [1.0], "
      "intercepts = [0.5]>(x)\n";
  const std::string since2 = Print(Imported(2, text)), since1 = Print(Imported(1, text));
  EXPECT_TRUE(absl::StrContains(since2, classifier)) << since2;
  EXPECT_TRUE(absl::StrContains(
      since2,
      "y = ai.onnx.ml.LabelEncoder<keys_int64s = [0, 1], values_strings = [\"a\", \"b\"]>("))
      << since2;
  EXPECT_TRUE(absl::StrContains(since1, classifier)) << since1;
  EXPECT_TRUE(
      absl::StrContains(since1, "y = ai.onnx.ml.LabelEncoder<classes_strings = [\"a\", \"b\"]>("))
      << since1;
}

TEST(MlImportTest, MissingInterceptsAreZeros) {
  const auto intercepts = [](std::string_view coefficients) {
    return Print(Imported(1, absl::StrCat("g (float[N,2] x) => (int64[N] y, float[N,2] z) { y, z = "
                                          "ai.onnx.ml.LinearClassifier<coefficients = ",
                                          coefficients, ", classlabels_ints = [1, 2]>(x) }")));
  };
  EXPECT_TRUE(absl::StrContains(intercepts("[1.0, 2.0]"), "intercepts = [0.0]>"));
  EXPECT_TRUE(absl::StrContains(intercepts("[1.0, 2.0, 3.0, 4.0]"), "intercepts = [0.0, 0.0]>"));
}

TEST(MlImportTest, DeprecatedOpsEndWithTheOpsetBefore) {
  ExpectRefusal(5, "g (float[N,2] x) => (float[N,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor(x) }",
                absl::StatusCode::kInvalidArgument, "opset 5 has no such op");
}

// The types of outputs, in one line.
std::string TypesOf(int opset, std::string_view inputs, std::string_view outputs,
                    std::string_view node) {
  const Graph graph =
      Imported(opset, absl::StrCat("g (", inputs, ") => (", outputs, ") { ", node, " }"));
  std::string types;
  for (const GraphOutput& output : graph.outputs())
    absl::StrAppend(&types, types.empty() ? "" : " ", ToString(output.value->type()));
  return types;
}

// What ONNX's inference leaves open.
TEST(MlTypesTest, FollowFromInputsAndAttributes) {
  EXPECT_EQ(
      TypesOf(1, "float[5] x, int64[1,3] i", "y", "y = ai.onnx.ml.ArrayFeatureExtractor(x, i)"),
      "f32[1,3]");
  EXPECT_EQ(TypesOf(1, "float[N,5] x, int64 i", "y", "y = ai.onnx.ml.ArrayFeatureExtractor(x, i)"),
            "f32[N,1]");
  EXPECT_EQ(TypesOf(1, "int64[N,2] x, int64[N,3] w", "y",
                    "y = ai.onnx.ml.FeatureVectorizer<inputdimensions = [2, 4]>(x, w)"),
            "f32[N,6]");
  EXPECT_EQ(TypesOf(1, "double[N,2] x", "y", "y = ai.onnx.ml.Imputer(x)"), "f64[N,2]");
  EXPECT_EQ(TypesOf(1, "int32[N,2] x", "y", "y = ai.onnx.ml.Normalizer(x)"), "f32[N,2]");
  EXPECT_EQ(
      TypesOf(1, "int64[N] x", "y", "y = ai.onnx.ml.LabelEncoder<classes_strings = [\"a\"]>(x)"),
      "string[N]");
  EXPECT_EQ(TypesOf(1, "double[N,2] x", "y",
                    "y = ai.onnx.ml.LinearRegressor<targets = 3, coefficients = [1.0]>(x)"),
            "f32[N,3]");
  EXPECT_EQ(TypesOf(1, "float[2] x", "y", "y = ai.onnx.ml.SVMRegressor(x)"), "f32[1,1]");
  const std::string_view four = "classlabels_ints = [1, 2, 3, 4]";
  const auto svm = [&](std::string_view attributes) {
    return TypesOf(1, "float[N,2] x", "y, z",
                   absl::StrCat("y, z = ai.onnx.ml.SVMClassifier<", four, attributes, ">(x)"));
  };
  EXPECT_EQ(svm(""), "i64[N] f32[N,4]");
  EXPECT_EQ(svm(", vectors_per_class = [1, 1, 1, 1]"), "i64[N] f32[N,6]");
  EXPECT_EQ(svm(", vectors_per_class = [1, 1, 1, 1], prob_a = [1.0]"), "i64[N] f32[N,4]");
  EXPECT_EQ(TypesOf(1, "float[N,2] x", "y, z",
                    "y, z = ai.onnx.ml.TreeEnsembleClassifier<classlabels_int64s = [1, 2, 3]>(x)"),
            "i64[N] f32[N,3]");
  EXPECT_EQ(TypesOf(1, "float[N,2] x", "y",
                    "y = ai.onnx.ml.TreeEnsembleRegressor<target_ids = [0, 2]>(x)"),
            "f32[N,3]");
}

}  // namespace
}  // namespace onnx_cudnn

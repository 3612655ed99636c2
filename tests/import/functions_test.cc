#include "runtime/import/functions.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kHeader = "<ir_version: 10, opset_import: [\"\" : 28, \"d\" : 1]> ";

// The imported model, printed.
std::string Expanded(std::string_view text) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(absl::StrCat(kHeader, text));
  if (!graph.ok()) return graph.status().ToString();
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph);
  return Print(*graph);
}

void ExpectRefusal(std::string_view text, absl::StatusCode code, std::string_view message) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(absl::StrCat(kHeader, text));
  EXPECT_EQ(graph.status().code(), code) << graph.status();
  EXPECT_TRUE(absl::StrContains(graph.status().message(), message)) << graph.status();
}

TEST(FunctionsTest, ExpandsEachCallWithNamesOfItsOwn) {
  EXPECT_EQ(Expanded(R"(
      g (float[2] x) => (float[2] z) { y = d.f(x)  z = d.f(y) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (b) { t = Relu(a)  b = Neg(t) })"),
            "g (f32[2] x) => (f32[2] z) {\n"
            "  f.0.t = Relu(x)\n"
            "  y = Neg(f.0.t)\n"
            "  f.1.t = Relu(y)\n"
            "  z = Neg(f.1.t)\n"
            "}\n");
}

TEST(FunctionsTest, ExpandsCallsWithinCalls) {
  EXPECT_EQ(Expanded(R"(
      g (float[2] x) => (float[2] y) { y = d.f(x) }
      <domain: "d", opset_import: ["" : 28, "d" : 1]> f (a) => (b) { t = d.h(a)  b = d.h(t) }
      <domain: "d", opset_import: ["" : 28]> h (a) => (b) { b = Relu(a) })"),
            "g (f32[2] x) => (f32[2] y) {\n"
            "  f.0.t = Relu(x)\n"
            "  y = Relu(f.0.t)\n"
            "}\n");
}

TEST(FunctionsTest, ResolvesAttributesByCallDefaultOrAbsence) {
  EXPECT_EQ(Expanded(R"(
      g (float[2] x) => (float[2] z) { y = d.f<alpha = 0.5>(x)  z = d.f(y) }
      <domain: "d", opset_import: ["" : 28]> f <alpha: float = 0.25, gamma> (a) => (b)
      { t = LeakyRelu<alpha: float = @alpha>(a)  b = Selu<gamma: float = @gamma>(t) })"),
            "g (f32[2] x) => (f32[2] z) {\n"
            "  f.0.t = LeakyRelu<alpha = 0.5>(x)\n"
            "  y = Selu(f.0.t)\n"
            "  f.1.t = LeakyRelu<alpha = 0.25>(y)\n"
            "  z = Selu(f.1.t)\n"
            "}\n");
}

TEST(FunctionsTest, LeavesAbsentInputsAbsent) {
  EXPECT_EQ(Expanded(R"(
      g (float[2] x, float high) => (float[2] y) { t = d.f(x)  y = d.f(t, "", high) }
      <domain: "d", opset_import: ["" : 28]> f (a, low, high) => (b) { b = Clip(a, low, high) })"),
            "g (f32[2] x, f32[] high) => (f32[2] y) {\n"
            "  t = Clip(x)\n"
            "  y = Clip(t, \"\", high)\n"
            "}\n");
}

TEST(FunctionsTest, UpgradesFromTheOpsetOfTheFunction) {
  EXPECT_EQ(Expanded(R"(
      g (float[4,1] x) => (float[4] y) { y = d.f(x) }
      <domain: "d", opset_import: ["" : 11]> f (a) => (b) { b = Squeeze<axes = [1]>(a) })"),
            "g (f32[4,1] x) => (f32[4] y) {\n  y = Squeeze(x, {1})\n}\n");
}

TEST(FunctionsTest, ReachesCallsInBodiesAndBodiesInFunctions) {
  EXPECT_EQ(Expanded(R"(
      g (bool c, float[2] x) => (float[2] y) { y = d.f(c, x) }
      <domain: "d", opset_import: ["" : 28, "d" : 1]> f (c, a) => (b) {
        t = Relu(a)
        b = If<then_branch = th () => (u) { u = d.h(t) }, else_branch = el () => (u) { u = Abs(t) }>(c) }
      <domain: "d", opset_import: ["" : 28]> h (a) => (b) { b = Neg(a) })"),
            "g (bool[] c, f32[2] x) => (f32[2] y) {\n"
            "  f.0.t = Relu(x)\n"
            "  y = If<\n"
            "    else_branch = el (f32[2] f.0.t) => (f32[2] f.2.u) {\n"
            "      f.2.u = Abs(f.0.t)\n"
            "    },\n"
            "    then_branch = th (f32[2] f.0.t) => (f32[2] f.1.u) {\n"
            "      f.1.u = Neg(f.0.t)\n"
            "    }\n"
            "  >(c, f.0.t)\n"
            "}\n");
}

TEST(FunctionsTest, GivesAnOutputThatIsAnInputANodeOfItsOwn) {
  EXPECT_EQ(Expanded(R"(
      g (float[2] x) => (float[2] y) { y = d.f(x) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (a) { })"),
            "g (f32[2] x) => (f32[2] y) {\n  y = Identity(x)\n}\n");
}

TEST(FunctionsTest, OutputsOfOneNameAreOneValue) {
  EXPECT_EQ(Expanded(R"(
      g (float[2] x) => (float[2] y, float[2] z) { y, z = d.f(x) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (b, b) { b = Relu(a) })"),
            "g (f32[2] x) => (f32[2] y, f32[2] z) {\n  y = Relu(x)\n  z = Identity(y)\n}\n");
}

TEST(FunctionsTest, OutputsOfABodyInAFunctionMayHaveOneName) {
  Expanded(R"(
      g (bool c, float[2] x) => (float[2] y, float[2] z) { y, z = d.f(c, x) }
      <domain: "d", opset_import: ["" : 28]> f (c, a) => (y, z) {
        y, z = If<then_branch = th () => (u, u) { u = Neg(a) }, else_branch = el () => (a, a) { }>(c) })");
}

// Opsets that the calling model may import apply only to its own nodes.
TEST(FunctionsTest, RefusesDomainsAndOpsetsThatAreNotTaken) {
  const auto refuse = [](std::string_view imports, std::string_view body, absl::StatusCode code,
                         std::string_view message) {
    ExpectRefusal(
        absl::StrCat("g (bool c, float[2] x) => (float[2] y) { y = d.f(c, x) } ",
                     "<domain: \"d\", opset_import: [", imports, "]> f (c, a) => (b) {", body, "}"),
        code, message);
  };
  const auto unimplemented = absl::StatusCode::kUnimplemented;
  const auto invalid = absl::StatusCode::kInvalidArgument;
  refuse("\"ai.onnx\" : 29", "b = Relu(a)", unimplemented,
         "node (Relu): Relu (opset 29) on f32: opsets 1 to 28 are taken");
  refuse("\"\" : 28, \"ml\" : 3", "b = ml.Binarizer(a)", unimplemented,
         "node (Binarizer): ml.Binarizer (opset 3) on f32: the domain is not taken");
  refuse("\"\" : 29",
         "b = If<then_branch = th () => (u) { u = Neg(a) }, "
         "else_branch = el () => (u) { u = Abs(a) }>(c)",
         unimplemented, "node (If): If (opset 29) on bool: opsets 1 to 28 are taken");
  refuse("\"\" : 0", "b = Relu(a)", invalid, "function \"f\": opset 0 of domain \"\"");
  refuse("\"\" : 28, \"ai.onnx\" : 27", "b = Relu(a)", invalid,
         "function \"f\": domain \"\" is imported as opset 28 and as opset 27");
}

TEST(FunctionsTest, RefusesRecursionAndDuplicates) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectRefusal(R"(
      g (float[2] x) => (float[2] y) { y = Relu(x) }
      <domain: "d", opset_import: ["d" : 1]> f (a) => (b) { b = d.h(a) }
      <domain: "d", opset_import: ["d" : 1]> h (a) => (b) { b = d.f(a) })",
                invalid, "calls itself");
  ExpectRefusal(R"(
      g (float[2] x) => (float[2] y) { y = d.f(x) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (b) { b = Relu(a) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (b) { b = Neg(a) })",
                invalid, "function \"f\" is defined twice");
}

TEST(FunctionsTest, RefusesWhatAFunctionDoesNotDefine) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectRefusal(R"(
      g (float[2] x) => (float[2] y) { y = d.f(x) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (b) { b = Relu(q) })",
                invalid, "reads \"q\", which nothing defines");
  ExpectRefusal(R"(
      g (float[2] x) => (float[2] y) { y = d.f(x, x) }
      <domain: "d", opset_import: ["" : 28]> f (a) => (b) { b = Relu(a) })",
                invalid, "the call has 2 inputs and 1 outputs, the function 1 and 1");
  ExpectRefusal(R"(
      g (float[2] x) => (float[2] y) { y = d.f(x) }
      <domain: "d", opset_import: ["d" : 1]> f (a) => (b) { b = Relu(a) })",
                invalid, "imports no opset of domain \"\"");
}

// f0 calls f1 `calls` times, f1 calls f2 as often, and so on.
std::string Tower(int height, int calls) {
  std::string text = "g (float[2] x) => (float[2] y) { y = d.f0(x) }";
  for (int i = 0; i < height; ++i) {
    absl::StrAppend(&text, "<domain: \"d\", opset_import: [\"\" : 28, \"d\" : 1]> f", i,
                    " (a) => (t", calls, ") { t0 = Identity(a) ");
    for (int k = 0; k < calls; ++k) {
      absl::StrAppend(&text, "t", k + 1, i + 1 < height ? absl::StrCat(" = d.f", i + 1) : " = Relu",
                      "(t", k, ") ");
    }
    absl::StrAppend(&text, "}\n");
  }
  return text;
}

TEST(FunctionsTest, HoldsTheLimitsBeforeItExpands) {
  EXPECT_TRUE(TryGraphFromText(absl::StrCat(kHeader, Tower(100, 1))).ok());
  ExpectRefusal(Tower(101, 1), absl::StatusCode::kUnimplemented, "more than 100 deep");
  ExpectRefusal(Tower(40, 3), absl::StatusCode::kUnimplemented, "the limit is 1000000");
}

}  // namespace
}  // namespace onnx_cudnn

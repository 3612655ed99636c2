#include "passes/explain/why_cut.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// Expects one reason for each of `texts`, in this order, that contains it.
void ExpectReasons(std::string_view graph, const std::vector<std::string>& texts,
                   const BuildOptions& options = {}) {
  const Graph parsed = GraphFromText(graph);
  std::vector<Type> types;
  for (const Value* input : parsed.inputs()) types.push_back(input->type());
  absl::StatusOr<GraphCut> cut = CutGraph(parsed, types, options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  const std::vector<std::string> reasons = WhyCut(*cut);
  ASSERT_EQ(reasons.size(), texts.size()) << ::testing::PrintToString(reasons);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(absl::StrContains(reasons[i], texts[i])) << reasons[i] << "\n" << texts[i];
  }
}

TEST(WhyCutTest, NamesTheElementsThatDecideAShape) {
  ExpectReasons(R"(
      g (float[2,2] x) => (y) <int64[1] row = {1}> {
        largest = ReduceMax<keepdims = 0>(x)
        count = Cast<to = 7>(largest)
        counts = Reshape(count, row)
        wide = Expand(largest, counts)
        y = Relu(wide) })",
                {"node \"wide\" (Expand) needs the elements of \"counts\" i64[1]"});
}

TEST(WhyCutTest, NamesTheSizeThatAProgramWritesAndWhatNeedsIt) {
  ExpectReasons(R"(
      g (float[2,2] x) => (y) {
        z = Relu(x)
        found = NonZero(z)
        y = Neg(found) })",
                {"the shape of \"found\" follows from a count that the program writes",
                 "node \"y\" (Neg) needs the shape of \"found\" i64[2,?]"});
}

TEST(WhyCutTest, NamesWhatRunsBetweenPrograms) {
  ExpectReasons(R"(
      g (float[4] x) => (y) {
        s = ReduceSum<keepdims = 0>(x)
        y = NonZero(s) })",
                {"(NonZero) runs between programs: the shapes of its outputs follow from the "
                 "elements of \"s\" f32[]"});
}

TEST(WhyCutTest, NamesControlFlow) {
  ExpectReasons(R"(
      g (float[2] x, float limit) => (float[2] y) <bool yes = {1}> {
        y = Loop(, yes, x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t) {
          t = Add(s, s)
          largest = ReduceMax<keepdims = 0>(t)
          on = Less(largest, limit) }> })",
                {"(Loop) runs between programs: how often its body runs may depend on data"});
}

TEST(WhyCutTest, NamesBranchesThatRunFasterAsPrograms) {
  const OwnedTarget h200 = *MakeTarget("h200");
  ExpectReasons(R"(
      g (float[128,128] x) => (float[128,128] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        z = If(c) <then_branch = a () => (p) { p = MatMul(x, x) },
                   else_branch = b () => (q) { m = Neg(x) q = MatMul(m, x) }>
        y = Relu(z) })",
                {"(If) runs between programs: its bodies run faster as programs of their own",
                 "node \"y\" (Relu) needs \"z\" f32[128,128], computed between programs"},
                {.body_target = &h200.target});
}

TEST(WhyCutTest, NamesAScanWhoseBodyRunsFasterAsAProgram) {
  const OwnedTarget h200 = *MakeTarget("h200");
  ExpectReasons(
      R"(
      g (float[512,512] x, float[5000,512,512] xs) => (float[512,512] last) {
        last = Scan(x, xs) <num_scan_inputs = 1,
          body = b (float[512,512] s, float[512,512] e) => (float[512,512] t) {
            t = MatMul(s, e) }> })",
      {"(Loop) runs between programs: how often its body runs may depend on data, or it runs "
       "faster as a program of its own"},
      {.body_target = &h200.target});
}

TEST(WhyCutTest, AStaticGraphHasNoReason) {
  ExpectReasons("g (float[2] x) => (float[2] y) { y = Relu(x) }", {});
}

}  // namespace
}  // namespace onnx_cudnn

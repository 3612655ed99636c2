// Einsums as products: the graphs after the rewrite as nested calls, and their numbers.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/explain/explanation.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/verify.h"
#include "runtime/ops/evaluate.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// MatMul(x0, Transpose[1,0](x1)): the calls that compute `value`, with constants and perms in
// brackets.
std::string CallsOf(const Value& value) {
  const Node* node = value.producer();
  if (node == nullptr) return value.name();
  std::string brackets;
  std::vector<std::string> arguments;
  const std::vector<int64_t> perm = node->attrs().Ints("perm");
  if (!perm.empty()) brackets = absl::StrCat("[", absl::StrJoin(perm, ","), "]");
  for (const Value* input : node->inputs()) {
    if (input->is_constant() && input->dtype() == DType::kI64) {
      absl::StrAppend(&brackets, "[", absl::StrJoin(*ToInts(input->constant()), ","), "]");
    } else {
      arguments.push_back(CallsOf(*input));
    }
  }
  return absl::StrCat(node->op(), brackets, "(", absl::StrJoin(arguments, ", "), ")");
}

// The Einsum of x0, x1, … of these types.
std::string Text(std::string_view equation, const std::vector<std::string>& types) {
  std::vector<std::string> inputs, names;
  for (size_t i = 0; i < types.size(); ++i) {
    names.push_back(absl::StrCat("x", i));
    inputs.push_back(absl::StrCat(types[i], " ", names.back()));
  }
  return absl::StrCat("g (", absl::StrJoin(inputs, ", "), ") => (y) { y = Einsum<equation = \"",
                      equation, "\">(", absl::StrJoin(names, ", "), ") }");
}

struct Lowering {
  std::string equation;
  std::vector<std::string> types;
  std::string calls;
};

// Also expects that shape inference confirms the types that the pass sets.
void Expect(const Lowering& row) {
  SCOPED_TRACE(row.equation);
  Graph graph = GraphFromText(Text(row.equation, row.types));
  const Type type = graph.outputs()[0].value->type();
  PassContext context;
  ASSERT_TRUE(*LowerEinsum()->Run(graph, context));
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  EXPECT_EQ(CallsOf(*graph.outputs()[0].value), row.calls);
  EXPECT_EQ(graph.outputs()[0].value->type(), type);
  EXPECT_TRUE(InferShapes(graph).ok()) << InferShapes(graph);
  EXPECT_FALSE(*LowerEinsum()->Run(graph, context));
}

// The same, and that the numbers stay: those of the reference of Einsum, which computes in f64.
void ExpectEqual(const Lowering& row) {
  Expect(row);
  ExpectSameNumbers(LowerEinsum(), Text(row.equation, row.types), 1e-5F);
}

TEST(LowerEinsumTest, ProductsOfMatricesNeedNothingElse) {
  ExpectEqual({"ij,jk->ik", {"float[2,3]", "float[3,4]"}, "MatMul(x0, x1)"});
  ExpectEqual({"ij,jk", {"float[2,3]", "float[3,4]"}, "MatMul(x0, x1)"});
  ExpectEqual({"ij,jk->ki",
               {"float[2,3]", "float[3,4]"},
               "MatMul(Transpose[1,0](x1), Transpose[1,0](x0))"});
  ExpectEqual({"bij,bjk->bik", {"float[2,3,4]", "float[2,4,5]"}, "MatMul(x0, x1)"});
  ExpectEqual({"abc,cd->abd", {"float[2,3,4]", "float[4,5]"}, "MatMul(x0, x1)"});
  ExpectEqual({"ij,bjk->bik", {"float[2,3]", "float[5,3,4]"}, "MatMul(x0, x1)"});
  ExpectEqual({"...ij,...jk->...ik", {"float[2,3,4,5]", "float[2,3,5,6]"}, "MatMul(x0, x1)"});
  ExpectEqual({"...ij,...jk", {"float[3,4,5]", "float[3,5,6]"}, "MatMul(x0, x1)"});
}

TEST(LowerEinsumTest, AttentionHasNoReshape) {
  ExpectEqual({"bhqd,bhkd->bhqk",
               {"float[2,3,4,5]", "float[2,3,6,5]"},
               "MatMul(x0, Transpose[0,1,3,2](x1))"});
  ExpectEqual({"bhqk,bhkd->bhqd", {"float[2,3,4,5]", "float[2,3,5,6]"}, "MatMul(x0, x1)"});
  ExpectEqual({"bqhd,bkhd->bhqk",
               {"float[2,4,3,5]", "float[2,6,3,5]"},
               "MatMul(Transpose[0,2,1,3](x0), Transpose[0,2,3,1](x1))"});
  ExpectEqual({"bhqk,bkhd->bqhd",
               {"float[2,3,4,5]", "float[2,5,3,6]"},
               "Transpose[0,2,1,3](MatMul(x0, Transpose[0,2,1,3](x1)))"});
  ExpectEqual({"bhqd,bhkd->bhqk",
               {"float[1,3,1,5]", "float[1,3,6,5]"},
               "MatMul(x0, Transpose[0,1,3,2](x1))"});
}

TEST(LowerEinsumTest, SymbolsStaySymbols) {
  Expect({"bhqd,bhkd->bhqk",
          {"float[N,3,Q,5]", "float[N,3,K,5]"},
          "MatMul(x0, Transpose[0,1,3,2](x1))"});
  Expect({"bsd,dhk->bshk",
          {"float[N,S,6]", "float[6,2,3]"},
          "Reshape[0,0,2,3](MatMul(x0, Reshape[6,6](x1)))"});
  Expect({"bshk,hkd->bsd",
          {"float[N,S,2,3]", "float[2,3,6]"},
          "MatMul(Reshape[0,0,6](x0), Reshape[6,6](x1))"});
  Expect({"bi,bj->bij", {"float[N,3]", "float[N,4]"}, "Mul(Unsqueeze[2](x0), Unsqueeze[1](x1))"});
  Expect({"bij->bi", {"float[N,I,J]"}, "ReduceSum[2](x0)"});
}

// Batches that only a part of the other operand has cannot be one product with a stride.
TEST(LowerEinsumTest, RelativePositionsMergeTheirRows) {
  ExpectEqual({"bhwc,hkc->bhwk",
               {"float[2,3,4,5]", "float[3,6,5]"},
               "Transpose[1,0,2,3](Reshape[3,2,4,6](MatMul(Reshape[3,8,5](Transpose[1,0,2,3](x0)), "
               "Transpose[0,2,1](x1))))"});
  ExpectEqual({"bhwc,wkc->bhwk",
               {"float[2,3,4,5]", "float[4,6,5]"},
               "Transpose[1,2,0,3](Reshape[4,2,3,6](MatMul(Reshape[4,6,5](Transpose[2,0,1,3](x0)), "
               "Transpose[0,2,1](x1))))"});
  Expect({"bhwc,hkc->bhwk",
          {"float[N,3,4,5]", "float[3,6,5]"},
          "Transpose[1,0,2,3](Reshape[3,-1,4,6](MatMul(Reshape[3,-1,5](Transpose[1,0,2,3](x0)), "
          "Transpose[0,2,1](x1))))"});
}

TEST(LowerEinsumTest, WithoutASumItIsMul) {
  ExpectEqual({"i,j->ij", {"float[2]", "float[3]"}, "Mul(Unsqueeze[1](x0), x1)"});
  ExpectEqual({"ij,ij->ij", {"float[2,3]", "float[2,3]"}, "Mul(x0, x1)"});
  ExpectEqual(
      {"ij,ij->ji", {"float[2,3]", "float[2,3]"}, "Mul(Transpose[1,0](x0), Transpose[1,0](x1))"});
  ExpectEqual({"j,ij->ij", {"float[3]", "float[2,3]"}, "Mul(x0, x1)"});
  ExpectEqual({",i->i", {"float", "float[3]"}, "Mul(x0, x1)"});
}

TEST(LowerEinsumTest, VectorsAreMatricesOfOneRow) {
  ExpectEqual({"i,i->",
               {"float[3]", "float[3]"},
               "Squeeze[0,1](MatMul(Unsqueeze[0](x0), Unsqueeze[1](x1)))"});
  ExpectEqual({"ij,j->i", {"float[2,3]", "float[3]"}, "Squeeze[1](MatMul(x0, Unsqueeze[1](x1)))"});
  ExpectEqual({"bi,bi->b",
               {"float[2,3]", "float[2,3]"},
               "Squeeze[1,2](MatMul(Unsqueeze[1](x0), Unsqueeze[2](x1)))"});
}

TEST(LowerEinsumTest, OneOperandIsSummedAndTransposed) {
  ExpectEqual({"ij->", {"float[2,3]"}, "ReduceSum[0,1](x0)"});
  ExpectEqual({"ij->ji", {"float[2,3]"}, "Transpose[1,0](x0)"});
  ExpectEqual({"ijk->ki", {"float[2,3,4]"}, "Transpose[1,0](ReduceSum[1](x0))"});
  ExpectEqual({"...i->i...", {"float[2,3,4]"}, "Transpose[2,0,1](x0)"});
  ExpectEqual({"ij->ij", {"float[2,3]"}, "Identity(x0)"});
}

TEST(LowerEinsumTest, DiagonalsAreSlices) {
  const std::string end = "9223372036854775807";
  ExpectEqual({"ii->i", {"float[3,3]"}, absl::StrCat("Slice[0][", end, "][0][4](Reshape[9](x0))")});
  ExpectEqual({"ii",
               {"float[3,3]"},
               absl::StrCat("ReduceSum[0](Slice[0][", end, "][0][4](Reshape[9](x0)))")});
  ExpectEqual({"iji->ij",
               {"float[3,2,3]"},
               absl::StrCat("Slice[0][", end, "][0][4](Reshape[9,2](Transpose[0,2,1](x0)))")});
  ExpectSameNumbers(LowerEinsum(), Text("iii->i", {"float[3,3,3]"}), 1e-6F);
  ExpectSameNumbers(LowerEinsum(), Text("ii,ij->j", {"float[3,3]", "float[3,2]"}), 1e-6F);
}

TEST(LowerEinsumTest, AnExtentOf1MatchesAny) {
  ExpectEqual(
      {"...ij,...jk->...ik", {"float[2,3,4]", "float[1,4,5]"}, "MatMul(x0, Squeeze[0](x1))"});
  ExpectEqual(
      {"...ij,...jk->...ik", {"float[1,3,4]", "float[2,4,5]"}, "MatMul(Squeeze[0](x0), x1)"});
  ExpectEqual({"ij,jk->ik",
               {"float[2,1]", "float[4,5]"},
               "Mul(Unsqueeze[1](Squeeze[1](x0)), ReduceSum[0](x1))"});
  ExpectEqual({"ii->i", {"float[3,1]"}, "Squeeze[1](x0)"});
}

TEST(LowerEinsumTest, SeveralOperandsAreMultipliedInTheGreedyOrder) {
  ExpectEqual(
      {"ij,jk,kl->il", {"float[2,9]", "float[9,9]", "float[9,3]"}, "MatMul(MatMul(x0, x1), x2)"});
  ExpectEqual(
      {"ij,jk,kl->il", {"float[9,9]", "float[9,9]", "float[9,1]"}, "MatMul(x0, MatMul(x1, x2))"});
  ExpectSameNumbers(LowerEinsum(), Text("a,b,c->cab", {"float[2]", "float[3]", "float[4]"}), 1e-5F);
  ExpectSameNumbers(LowerEinsum(),
                    Text("bn,anm,bm->ba", {"float[2,3]", "float[4,3,5]", "float[2,5]"}), 1e-5F);
  ExpectSameNumbers(LowerEinsum(),
                    Text("i,j,k,ijk->", {"float[2]", "float[3]", "float[4]", "float[2,3,4]"}),
                    1e-4F);
}

// In 16 bits only the result is rounded.
TEST(LowerEinsumTest, SeveralStepsOn16BitsAreComputedInF32) {
  Expect({"ij,jk->ik", {"float16[2,3]", "float16[3,4]"}, "MatMul(x0, x1)"});
  Expect({"ij,jk,kl->il",
          {"float16[2,9]", "float16[9,9]", "float16[9,3]"},
          "Cast(MatMul(MatMul(Cast(x0), Cast(x1)), Cast(x2)))"});
  Expect({"ij,jk->k",
          {"bfloat16[2,3]", "bfloat16[3,4]"},
          "Squeeze[0](Cast(MatMul(Unsqueeze[0](ReduceSum[0](Cast(x0))), Cast(x1))))"});
}

TEST(LowerEinsumTest, AConstantIsTransposedInsteadOfTheResult) {
  Graph graph = GraphFromText(R"(
      g (float[2,3] x0) => (y) <float[2,3] w = {1,2,3,4,5,6}>
      { y = Einsum<equation = "bi,oi->bo">(x0, w) })");
  PassContext context;
  ASSERT_TRUE(RunPasses(graph, MakePipeline(2), {}, context).ok());
  const std::string printed = PrintOnOneLine(graph);
  EXPECT_NE(printed.find("MatMul(x0, {1, 4, 2, 5, 3, 6})"), std::string::npos) << printed;
  EXPECT_EQ(graph.node_count(), 1) << printed;
}

void ExpectStays(std::string_view equation, const std::vector<std::string>& types,
                 std::string_view reason) {
  ExpectNoRewrite(LowerEinsum(), Text(equation, types), reason);
}

TEST(LowerEinsumTest, LeavesWhatNeedsNumbers) {
  ExpectStays("ii->i", {"float[N,N]"}, "a diagonal needs numbers for dims");
  ExpectStays("ij,jk->ik", {"float[2,N]", "float[M,3]"},
              "the extents of a label are not known to be equal");
  ExpectStays("ij,jk,kl->il", {"float[N,3]", "float[3,3]", "float[3,3]"},
              "the order of several products needs numbers for dims");
  ExpectStays("bhwc,hkc->bhwk", {"float[N,H,W,5]", "float[H,6,5]"},
              "a Reshape would need numbers for dims");
}

TEST(LowerEinsumTest, LeavesIntegersAndNothing) {
  ExpectStays("ij,jk->ik", {"int32[2,3]", "int32[3,4]"}, "its elements are not floats");
  ExpectStays("ij,jk->ik", {"float[2,0]", "float[0,4]"}, "an extent is 0");
}

TEST(LowerEinsumTest, StaysOnTheCpuAndInOldFiles) {
  Graph graph = GraphFromText(Text("ij,jk->ik", {"float[2,3]", "float[3,4]"}));
  const Target cpu;
  PassContext for_cpu{.target = &cpu}, for_file{.newest_opset = 12};
  EXPECT_FALSE(*LowerEinsum()->Run(graph, for_cpu));
  EXPECT_FALSE(*LowerEinsum()->Run(graph, for_file));
}

// Windowed attention with decomposed relative positions, as MViT and SAM have them.
constexpr std::string_view kWindowedAttention = R"(
    g (float[N,4,4,32] q, float[N,4,4,32] k, float[N,16,32] v, float[4,4,32] rh, float[4,4,32] rw)
      => (float[N,16,32] y)
      <int64[3] rows = {0, 16, 32}, int64[5] square = {0, 4, 4, 4, 4},
       int64[3] flat = {0, 16, 16}, int64[1] last = {4}, int64[1] before = {3}>
    { q3 = Reshape(q, rows)
      k3 = Reshape(k, rows)
      logits = Einsum<equation = "bqc,bkc->bqk">(q3, k3)
      along_h = Einsum<equation = "bhwc,hkc->bhwk">(q, rh)
      along_w = Einsum<equation = "bhwc,wkc->bhwk">(q, rw)
      square_logits = Reshape(logits, square)
      h5 = Unsqueeze(along_h, last)
      w5 = Unsqueeze(along_w, before)
      with_h = Add(square_logits, h5)
      with_w = Add(with_h, w5)
      flat_logits = Reshape(with_w, flat)
      weights = Softmax(flat_logits)
      y = Einsum<equation = "bqk,bkc->bqc">(weights, v) })";

struct Explained {
  double us = 0;
  int on_host = 0;
};

Explained ExplainWindows(int level, std::set<std::string, std::less<>> disabled = {}) {
  const absl::StatusOr<OwnedTarget> h200 = MakeTarget("h200");
  EXPECT_TRUE(h200.ok()) << h200.status();
  Graph graph = GraphFromText(kWindowedAttention);
  PassContext context{.target = &h200->target};
  EXPECT_TRUE(RunPasses(graph, MakePipeline(level), {.disabled = disabled}, context).ok());
  const Dims images = {25, 4, 4, 32}, rows = {25, 16, 32};
  const InputDims dims = {{"q", images}, {"k", images}, {"v", rows}};
  const absl::StatusOr<Explanation> explanation =
      Explain(graph, dims, h200->target, {.disabled_passes = disabled});
  EXPECT_TRUE(explanation.ok()) << explanation.status();
  Explained found{.us = explanation->totals.us};
  for (const auto& p : explanation->partitions) found.on_host += p.engine == "host";
  return found;
}

TEST(LowerEinsumTest, WindowedAttentionRunsOnTheGpu) {
  const Explained einsums = ExplainWindows(2, {"lower-einsum"});
  EXPECT_GE(einsums.on_host, 4);    // and what is cheaper between two of them than two transfers
  for (const int level : {0, 2}) {  // level 0: while shapes are bound
    const Explained products = ExplainWindows(level);
    EXPECT_EQ(products.on_host, 0);
    EXPECT_LT(products.us, einsums.us / 2);
  }
}

}  // namespace
}  // namespace onnx_cudnn

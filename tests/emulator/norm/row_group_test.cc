// Norms of rows with element-wise ops as one launch: types, lengths of rows, broadcasts, outputs.
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/emulator/candidate_code.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

double ToleranceOf(DType dtype) { return emulator::ToleranceOf(dtype, 2e-5); }

class RowGroupCodeTest : public CandidateCodeTest {
 protected:
  RowGroupCodeTest() : CandidateCodeTest("row_group", /*least_nodes=*/1) {}

  // Runs every Candidate at the norm; the largest has `nodes` Nodes.
  void ExpectRuns(const Graph& graph, size_t nodes, double tolerance, std::string_view norm) {
    ExpectRunsAt(norm, graph, nodes, tolerance);
  }
  void ExpectRuns(const std::string& text, size_t nodes, double tolerance,
                  std::string_view norm = "LayerNormalization") {
    SCOPED_TRACE(text);
    ExpectRuns(GraphFromText(text), nodes, tolerance, norm);
  }
};

constexpr std::pair<DType, const char*> kTypes[] = {
    {DType::kF32, "float"}, {DType::kF16, "float16"}, {DType::kBF16, "bfloat16"}};

// Parts of a warp, warps and blocks; vectors and rows that end within one.
TEST_F(RowGroupCodeTest, RowsOfAnyLength) {
  for (const auto& [dtype, type] : kTypes) {
    for (const int columns : {1, 3, 8, 24, 100, 256, 264, 768, 1001}) {
      const std::string rows = absl::StrCat(type, "[3,5,", columns, "] "),
                        row = absl::StrCat(type, "[", columns, "] ");
      ExpectRuns(absl::StrCat("g (", rows, "x, ", rows, "z, ", row, "s, ", row, "b) => (y, a) ",
                              "{ a = Add(x, z) n = LayerNormalization(a, s, b) y = Neg(n) }"),
                 3, ToleranceOf(dtype));
    }
  }
}

// Groups that need no program: sums of one to three operands, and one Cast behind.
TEST_F(RowGroupCodeTest, SumsAndCasts) {
  for (const auto& [dtype, type] : kTypes) {
    for (const int columns : {5, 64, 1032}) {
      const std::string rows = absl::StrCat(type, "[7,", columns, "] "),
                        row = absl::StrCat(type, "[", columns, "] ");
      const std::string inputs =
          absl::StrCat("g (", rows, "x, ", rows, "z, ", row, "c, ", row, "s, ", row, "b) => ");
      const double tolerance = 2 * ToleranceOf(dtype);
      ExpectRuns(absl::StrCat(inputs, "(y, a) { a = Add(x, z) y = LayerNormalization(a, s, b) }"),
                 2, tolerance);
      ExpectRuns(absl::StrCat(inputs, "(y) { a = Add(x, c) r = Add(z, a) ",
                              "n = LayerNormalization(r, s, b) y = Cast<to = 1>(n) }"),
                 4, tolerance);
      ExpectRuns(absl::StrCat(inputs, "(y, n, a) { a = Add(x, z) ",
                              "n = RMSNormalization(a, s) y = Cast<to = 10>(n) }"),
                 3, std::max(tolerance, ToleranceOf(DType::kF16)), "RMSNormalization");
    }
  }
}

TEST_F(RowGroupCodeTest, TypesOfOperandsDiffer) {
  ExpectRuns(R"(g (float[6,72] x, float16[6,72] z, float16[72] s) => (y, a)
      { k = Cast<to = 10>(x)
        a = Add(k, z)
        n = RMSNormalization(a, s)
        y = Cast<to = 1>(n) })",
             4, ToleranceOf(DType::kF16), "RMSNormalization");
}

// Groups of one form share a kernel; those that decode their ops have another.
TEST_F(RowGroupCodeTest, SumsAreCompiled) {
  const auto function_of = [&](std::string_view nodes) {
    const Graph graph = GraphFromText(
        absl::StrCat("g (float16[6,72] x, float16[6,72] z, float16[72] s) => (y) { ", nodes, " }"));
    const Candidate* largest = nullptr;
    const Proposed proposed = At(graph, "LayerNormalization");
    for (const Candidate& candidate : proposed.candidates) {
      if (largest == nullptr || candidate.nodes.size() > largest->nodes.size()) {
        largest = &candidate;
      }
    }
    const auto code = CompileVariant(*largest, {.text = "row_group"}, target_);
    EXPECT_TRUE(code.ok()) << code.status();
    return code->calls[0].function;
  };
  const void* sum = function_of("a = Add(x, z) y = LayerNormalization(a, s)");
  EXPECT_EQ(function_of("a = Add(z, x) n = LayerNormalization(a, s) y = Cast<to = 1>(n)"), sum);
  EXPECT_NE(function_of("a = Mul(x, z) y = LayerNormalization(a, s)"), sum);
  EXPECT_NE(function_of("a = Add(x, z) n = LayerNormalization(a, s) y = Neg(n)"), sum);
}

TEST_F(RowGroupCodeTest, RowsOfATable) {
  constexpr std::string_view kGroups[] = {
      "a = Gather(t, i) y = LayerNormalization(a, s)",
      "a = Gather(t, i) r = Add(a, x) y = LayerNormalization(r, s)",
      "a = Gather(t, i) r = Mul(x, a) n = LayerNormalization(r, s) y = Neg(n)"};
  for (const std::string_view nodes : kGroups) {
    for (const int columns : {6, 48}) {
      for (const int64_t last : {-9, -10, 8, 9}) {  // the table has rows -9 to 8
        const std::string text =
            absl::StrCat("g (float[9,", columns, "] t, int64[2,3] i, float[2,3,", columns,
                         "] x, float[", columns, "] s) => (y) { ", nodes, " }");
        SCOPED_TRACE(absl::StrCat(text, " ", last));
        const Graph graph = GraphFromText(text);
        const Proposed proposed = At(graph, "LayerNormalization");
        const auto is_whole = [&](const Candidate& candidate) {
          return candidate.nodes.size() == graph.TopologicalOrder().size();
        };
        const auto whole =
            std::find_if(proposed.candidates.begin(), proposed.candidates.end(), is_whole);
        ASSERT_NE(whole, proposed.candidates.end());
        std::vector<HostTensor> inputs;
        for (const Value* v : BoundaryOf(whole->nodes).inputs) {
          inputs.push_back(
              v->dtype() == DType::kI64
                  ? HostTensor::Of<int64_t>(DType::kI64, {2, 3}, {0, 8, -1, 3, 0, last})
                  : TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), 3)));
        }
        const auto code = CompileVariant(*whole, {.text = "row_group"}, target_);
        ASSERT_TRUE(code.ok()) << code.status();
        EXPECT_EQ(emulator::CompareWithReference(code, *whole, inputs, 2e-5), "");
      }
    }
  }
}

TEST_F(RowGroupCodeTest, BlocksOfManyThreads) {
  for (const int columns : {4096, 8184}) {
    const std::string rows = absl::StrCat("float16[2,", columns, "] ");
    ExpectRuns(absl::StrCat("g (", rows, "x, ", rows, "z, float16[", columns, "] s) => (y) ",
                            "{ a = Mul(x, z) n = RMSNormalization(a, s) y = Cast<to = 1>(n) }"),
               3, ToleranceOf(DType::kF16), "RMSNormalization");
  }
}

TEST_F(RowGroupCodeTest, OperandsThatBroadcast) {
  for (const char* dims : {"[2,3,4,16]", "[16]", "[1]", "[4,16]", "[3,1,16]", "[2,1,4,1]",
                           "[2,1,1,16]", "[1,3,1,1]", "[2,3,4,1]"}) {
    ExpectRuns(absl::StrCat("g (float[2,3,4,16] x, float", dims, " z, float[1] s, float[16] b) => ",
                            "(y) { a = Sub(z, x) n = LayerNormalization(a, s, b) y = Sub(z, n) }"),
               3, 1e-4);
  }
}

TEST_F(RowGroupCodeTest, SeveralTypesAndOutputs) {
  ExpectRuns(R"(g (float16[4,40] x, bfloat16[4,40] z, float[40] s, float16[40] b) => (y, a, n)
      { h = Cast<to = 1>(x)
        k = Cast<to = 1>(z)
        a = Add(h, k)
        n = LayerNormalization(a, s)
        c = Cast<to = 10>(n)
        d = Mul(c, b)
        y = Cast<to = 16>(d) })",
             7, ToleranceOf(DType::kBF16));
}

// The sum is rounded to f16 before the norm reads it, and y before its readers do.
TEST_F(RowGroupCodeTest, RoundsBetweenNodes) {
  ExpectRuns(R"(g (float16[2,64] x, float16[64] s) => (y) <float16 big = {2048}>
      { a = Add(x, big)
        n = RMSNormalization(a, s)
        p = Add(n, big)
        y = Sub(p, big) })",
             4, 0, "RMSNormalization");
}

TEST_F(RowGroupCodeTest, KeepsAResultThatIsNeededAgain) {
  ExpectRuns(R"(g (float16[6,72] x, float16[6,72] z, float16[72] s, float16[72] b) => (y)
      { n = LayerNormalization<epsilon = 0.5>(x, s, b)
        e = Sigmoid(n)
        p = Mul(n, e)
        q = Add(p, z)
        r = Abs(q)
        y = Sub(q, r) })",
             6, ToleranceOf(DType::kF16));
}

}  // namespace
}  // namespace onnx_cudnn

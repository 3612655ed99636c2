// Ops on rows with element-wise ops as one launch: types, lengths of rows, broadcasts, outputs.
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

// 1/8 in the text of a constant, where 16-bit floats are bits.
std::string Eighth(DType dtype) {
  return dtype == DType::kF32 ? "0.125" : dtype == DType::kF16 ? "12288" : "15872";
}

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
  const auto function_of = [&](std::string_view nodes, std::string_view op = "LayerNormalization") {
    const Graph graph =
        GraphFromText(absl::StrCat("g (float16[6,72] x, float16[6,72] z, float16[72] s) => (y) ",
                                   "<float16 c = {12288}> { ", nodes, " }"));
    const Candidate* largest = nullptr;
    const Proposed proposed = At(graph, op);
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
  const void* softmax = function_of("a = Add(x, z) y = Softmax(a)", "Softmax");
  EXPECT_NE(softmax, sum);
  EXPECT_EQ(function_of("k = Mul(x, c) a = Add(k, z) y = Softmax(a)", "Softmax"), softmax);
  EXPECT_NE(function_of("a = Mul(x, z) y = Softmax(a)", "Softmax"), softmax);
}

// Every op in parts of a warp, warps and blocks, with the program and without it.
TEST_F(RowGroupCodeTest, EveryRowOp) {
  constexpr std::string_view kOps[] = {"Softmax",    "LogSoftmax", "ReduceSum",
                                       "ReduceMean", "ReduceMax",  "ReduceMin",
                                       "ReduceL1",   "ReduceL2",   "ReduceSumSquare"};
  for (const std::string_view op : kOps) {
    const std::string call = absl::StrCat(op, op.starts_with("Reduce") ? "(a, last)" : "(a)");
    for (const auto& [dtype, type] : kTypes) {
      for (const int columns : {1, 5, 24, 256, 264, 1001}) {
        const std::string rows = absl::StrCat(type, "[3,", columns, "] ");
        const std::string begin = absl::StrCat("g (", rows, "x, ", rows, "z) => (y) <int64[1] ",
                                               "last = {1}> { a = Add(x, z) n = ", call);
        ExpectRuns(absl::StrCat(begin, " y = Cast<to = 1>(n) }"), 3, 4 * ToleranceOf(dtype), op);
        ExpectRuns(absl::StrCat(begin, " y = Sub(x, n) }"), 3, 4 * ToleranceOf(dtype), op);
      }
    }
  }
}

TEST_F(RowGroupCodeTest, MaskedSoftmax) {
  for (const auto& [dtype, type] : kTypes) {
    for (const int columns : {1, 3, 7, 64, 197, 1000, 1032}) {
      const std::string inputs = absl::StrCat("g (", type, "[2,3,", columns, "] x, ", type, "[2,1,",
                                              columns, "] m, bool[3,", columns, "] t) => (y) <",
                                              type, " c = {", Eighth(dtype), "}> { ");
      const double tolerance = 2 * ToleranceOf(dtype);
      ExpectRuns(absl::StrCat(inputs, "a = Mul(x, c) k = Add(a, m) p = Softmax(k) ",
                              "y = Cast<to = 1>(p) }"),
                 4, tolerance, "Softmax");
      ExpectRuns(absl::StrCat(inputs, "a = Mul(x, c) k = Where(t, a, c) p = Softmax(k) ",
                              "y = Mul(p, m) }"),
                 4, tolerance, "Softmax");
    }
  }
}

// A thread holds more elements of long or many rows: whole vectors, and rows that start anywhere.
TEST_F(RowGroupCodeTest, ManyRows) {
  compiled_for_.info.l2_bytes = 65'536;
  for (const auto& [dtype, type] : kTypes) {
    for (const int columns : {128, 264, 300, 1000, 1001, 2055, 4104, 4105}) {
      const int most = 16'384;  // which threads of 8 elements compute
      const std::string rows = absl::StrCat(type, "[", most / columns + 1, ",", columns, "] "),
                        row = absl::StrCat(type, "[", columns, "] ");
      const std::string inputs = absl::StrCat("g (", rows, "x, ", rows, "z, ", row, "s, ", row,
                                              "b) => (y, a) <int64[1] last = {1}> { ");
      const double tolerance = 4 * ToleranceOf(dtype);
      ExpectRuns(absl::StrCat(inputs, "a = Add(x, z) y = LayerNormalization(a, s, b) }"), 2,
                 tolerance);
      ExpectRuns(absl::StrCat(inputs,
                              "c = Add(x, b) a = Add(c, z) p = LogSoftmax(a) "
                              "y = Cast<to = 1>(p) }"),
                 4, tolerance, "LogSoftmax");
      ExpectRuns(absl::StrCat(inputs, "a = Add(x, s) y = ReduceMin(a, last) }"), 2, tolerance,
                 "ReduceMin");
    }
  }
}

TEST_F(RowGroupCodeTest, ManyRowsTakeFewerThreads) {
  const Graph graph = GraphFromText(
      "g (float16[20,1024] x, float16[1024] m) => (y) "
      "{ a = Add(x, m) y = Softmax(a) }");
  const Proposed proposed = At(graph, "Softmax");
  const auto blocks = [&] {
    const auto code =
        CompileVariant(proposed.candidates.back(), {.text = "row_group"}, compiled_for_);
    EXPECT_TRUE(code.ok()) << code.status();
    return code->calls[0].shape.grid.x;
  };
  EXPECT_EQ(blocks(), 20u);
  compiled_for_.info.l2_bytes = 65'536;
  EXPECT_EQ(blocks(), 5u);  // a warp a row
}

// Masks of batches, heads, queries and keys, and of several of them.
TEST_F(RowGroupCodeTest, MasksThatBroadcast) {
  for (const int64_t l2_bytes : {60'000'000, 65'536}) {
    compiled_for_.info.l2_bytes = l2_bytes;
    for (const auto& [dtype, type] : kTypes) {
      for (const int columns : {1, 3, 197, 1000}) {
        for (const char* dims : {"[2,1,1,$]", "[1,3,3,$]", "[3,$]", "[2,3,3,1]", "[2,1,3,$]"}) {
          std::string mask = dims;
          if (const size_t at = mask.find('$'); at != std::string::npos) {
            mask.replace(at, 1, absl::StrCat(columns));
          }
          ExpectRuns(absl::StrCat("g (", type, "[2,3,3,", columns, "] x, ", type, mask,
                                  " m) => (y) <", type, " c = {", Eighth(dtype), "}> ",
                                  "{ a = Mul(x, c) k = Add(a, m) y = Softmax(k) }"),
                     3, 2 * ToleranceOf(dtype), "Softmax");
        }
      }
    }
  }
}

// By -inf, and by the lowest number, which excludes only if the row has others.
TEST_F(RowGroupCodeTest, ExcludesByTheLowestNumbers) {
  ExpectRuns(
      "g (float16[5,4] x) => (y) <float16[4] m = {0, 64512, 0, 64512}> "
      "{ a = Add(x, m) y = Softmax(a) }",
      2, ToleranceOf(DType::kF16), "Softmax");
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    ExpectRuns(absl::StrCat("g (float[2,4] x) => (y) <float[2,4] m = {-3.4e38, -3.4e38, -3.4e38, ",
                            "-3.4e38, 0, -3.4e38, 0, -3.4e38}> { a = Add(x, m) y = ", op, "(a) }"),
               2, 2e-5, op);
  }
}

// Values that are kept across an op, and two ops in one group.
TEST_F(RowGroupCodeTest, KeepsValuesAcrossRowOps) {
  struct Case {
    const char* nodes;
    size_t count;
    const char* at;
  };
  constexpr Case kCases[] = {
      {"a = Add(x, z) n = ReduceMean(a, last) y = Sub(a, n)", 3, "ReduceMean"},
      {"e = Exp(x) n = ReduceSum(e, last) y = Div(e, n)", 3, "ReduceSum"},
      {"q = Mul(x, x) n = ReduceSum(q, last) k = Add(n, c) r = Sqrt(k) y = Div(x, r)", 5,
       "ReduceSum"},
      {"a = Mul(x, c) n = ReduceMax(a, last) k = Sub(a, n) e = Exp(k) v = ReduceSum(e, last) "
       "y = Div(e, v)",
       6, "ReduceMax"},
      {"p = Softmax(x) n = ReduceMax(p, last) y = Div(p, n)", 3, "Softmax"},
      {"a = Mul(x, c) p = Softmax(a) k = Add(p, a) n = ReduceSum(k, last) y = Div(p, n)", 4,
       "Softmax"},  // a, or p behind the sum, but not both
      {"n = ReduceMean(x, last) a = Sub(x, n) q = Mul(a, a) y = ReduceMean<keepdims = 0>(q, last)",
       4, "ReduceMean"},
      {"n = RMSNormalization(x, s) a = Abs(n) v = ReduceMax(a, last) y = Div(n, v)", 4,
       "RMSNormalization"},
      {"a = Add(x, z) n = LayerNormalization(a, s) y = Add(n, a)", 3, "LayerNormalization"}};
  for (const auto& [dtype, type] : kTypes) {
    for (const int columns : {5, 64, 1032}) {
      for (const Case& c : kCases) {
        const std::string rows = absl::StrCat(type, "[4,", columns, "] ");
        ExpectRuns(absl::StrCat("g (", rows, "x, ", rows, "z, ", type, "[", columns,
                                "] s) => (y) <int64[1] last = {1}, ", type, " c = {", Eighth(dtype),
                                "}> { ", c.nodes, " }"),
                   c.count, 8 * ToleranceOf(dtype), c.at);
      }
    }
  }
}

// Results of one element per row, also without the axis, with operands that broadcast to them.
TEST_F(RowGroupCodeTest, OneElementPerRow) {
  for (const int columns : {6, 64, 300}) {
    const std::string inputs = absl::StrCat(
        "g (float[2,3,", columns, "] x, float[2,1] z, float[6,1] k, float[6,", columns, "] v) => ");
    ExpectRuns(absl::StrCat(inputs, "(y, n) <int64[1] last = {2}> { a = Abs(x) ",
                            "n = ReduceMax<keepdims = 0>(a, last) y = Mul(n, z) }"),
               3, 1e-6, "ReduceMax");
    ExpectRuns(absl::StrCat(inputs, "(y, n, p) <int64[1] last = {1}> { n = ReduceSum(v, last) ",
                            "p = Add(n, k) y = Mul(p, v) }"),
               3, 1e-4, "ReduceSum");
  }
  ExpectRuns(
      "g (float[9] x) => (y) <int64[1] last = {0}> "
      "{ n = ReduceSum<keepdims = 0>(x, last) y = Neg(n) }",
      2, 1e-5, "ReduceSum");
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

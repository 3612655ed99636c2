// Ops on rows with element-wise ops on the GPU: rows of transformers, in each type.
#include "absl/strings/str_cat.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class RowGroupGpuTest : public KernelTest {
 protected:
  void Check(const std::string& text, const std::string& op) {
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    EXPECT_GT(CheckAll(graph, OfAllNodes(graph, op, target()), target()), 0);
  }

  // A norm with an op and a residual before it and an op behind it, in each type.
  void CheckResidual(std::string_view before, std::string_view behind, int columns) {
    for (const char* type : {"float", "float16", "bfloat16"}) {
      const std::string rows = absl::StrCat(type, "[2,197,", columns, "] "),
                        row = absl::StrCat(type, "[", columns, "] ");
      Check(absl::StrCat("g (", rows, "x, ", row, "c, ", rows, "z, ", row, "s, ", row,
                         "b) => (y, r) { a = ", before, "(x, c) r = Add(a, z) ",
                         "n = LayerNormalization(r, s, b) y = ", behind, "(n) }"),
            "LayerNormalization");
    }
  }
};

TEST_F(RowGroupGpuTest, ResidualsAndCasts) {
  for (const int columns : {7, 192, 500, 768, 1000, 1024, 1111, 4096, 8192}) {
    CheckResidual("Add", "Cast<to = 1>", ShortIfEmulated(columns));
  }
}

// Threads hold more elements of them.
TEST_F(RowGroupGpuTest, ManyRows) {
  const int rows = IsEmulated() ? 3 : 20'000;
  for (const char* type : {"float", "float16", "bfloat16"}) {
    for (const int columns : {128, 384, 1000, 1111}) {
      const std::string all = absl::StrCat(type, "[", rows, ",", columns, "] "),
                        row = absl::StrCat(type, "[", columns, "] ");
      // Inputs in the order in which the group reads them.
      Check(absl::StrCat(
                "g (", all, "x, ", all, "z, ", row,
                "s) => (y) { a = Add(x, z) n = RMSNormalization(a, s) y = Cast<to = 1>(n) }"),
            "RMSNormalization");
      Check(absl::StrCat("g (", all, "x, ", row, "s, ", all,
                         "z) => (y) { a = Add(x, s) b = Add(a, z) y = Softmax(b) }"),
            "Softmax");
    }
  }
}

// More than sums and conversions: the program is decoded.
TEST_F(RowGroupGpuTest, OtherOps) {
  for (const int columns : {7, 192, 768, 1000, 1111, 8192}) {
    CheckResidual("Mul", "Tanh", ShortIfEmulated(columns));
  }
}

TEST_F(RowGroupGpuTest, FactorsBehindANormAboutZero) {
  Check(
      "g (float[4,128,2048] x, float[2048] s, float16[2048] w) => (y) "
      "{ n = RMSNormalization(x, s) c = Cast<to = 10>(n) y = Mul(c, w) }",
      "RMSNormalization");
}

TEST_F(RowGroupGpuTest, SoftmaxAndReductions) {
  // 1/8, in the text of a constant the bits of a 16-bit float.
  for (const auto& [type, eighth] :
       {std::pair("float", "0.125"), {"float16", "12288"}, {"bfloat16", "15872"}}) {
    for (const int columns : {7, 197, 1024, 8192}) {
      const std::string inputs =
          absl::StrCat("g (", type, "[2,12,", ShortIfEmulated(columns), "] x, ", type, "[2,1,",
                       ShortIfEmulated(columns), "] m) => (y) <int64[1] last = {2}, ", type,
                       " c = {", eighth, "}> { ");
      Check(
          absl::StrCat(inputs, "a = Mul(x, c) k = Add(a, m) p = Softmax(k) y = Cast<to = 1>(p) }"),
          "Softmax");
      Check(absl::StrCat(inputs, "q = Mul(x, x) n = ReduceSum(q, last) k = Add(n, c) r = Sqrt(k) ",
                         "d = Div(x, r) y = Add(d, m) }"),
            "ReduceSum");
      Check(absl::StrCat(inputs, "a = Add(x, m) n = ReduceMax(a, last) k = Sub(a, n) e = Exp(k) ",
                         "v = ReduceSum(e, last) y = Div(e, v) }"),
            "ReduceMax");
    }
  }
}

TEST_F(RowGroupGpuTest, RowsOfATable) {
  Check(
      "g (float[50,768] t, float[1,8,768] p, float[768] s, float[768] b) => (y) "
      "<int64[1,8] i = {0, 49, -1, 7, -50, 3, 3, 21}> { a = Gather(t, i) r = Add(a, p) "
      "n = LayerNormalization(r, s, b) y = Cast<to = 10>(n) }",
      "LayerNormalization");
}

}  // namespace
}  // namespace onnx_cudnn

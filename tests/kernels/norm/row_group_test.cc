// Which element-wise ops run in one launch with a norm of rows, and at what price.
#include "absl/strings/str_cat.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class RowGroupTest : public KernelsTest {
 protected:
  // Rows of 64 elements.
  static std::string Text(std::string_view nodes, std::string_view outputs = "y") {
    return absl::StrCat(
        "g (float16[2,5,64] x, float16[2,5,64] z, float[2,5,64] f, float16[64] s, float16[64] b, "
        "float16[2,5,1] m, float16[9,64] h,  float16[1,1,64] c, float[64] e, "
        "double[2,5,64] d, bool[2,5,64] t) => (",
        outputs, ") <int64[2,5] i = {0, 8, 1, 7, 2, 6, 3, 5, 4, 0}> { ", nodes, " }");
  }
};

TEST_F(RowGroupTest, TakesWhatComesBeforeAndBehind) {
  constexpr std::string_view kNorm = "LayerNormalization";
  const std::string op(kNorm);
  ExpectCases({
      {"a residual", Text("a = Add(x, z) y = LayerNormalization(a, s, b)"), op,
       "{Add LayerNormalization}"},
      {"a bias and a residual", Text("a = Add(x, b) r = Add(a, z) y = LayerNormalization(r, s, b)"),
       op, "{Add Add LayerNormalization}"},
      {"a cast on both sides",
       Text("a = Cast<to = 10>(f) n = LayerNormalization(a, s) y = Cast<to = 1>(n)"), op,
       "{Cast LayerNormalization Cast}"},
      {"an activation behind", Text("a = Mul(x, m) n = LayerNormalization(a, s, b) y = Swish(n)"),
       op, "{Mul LayerNormalization Swish}"},
      {"a residual behind", Text("n = LayerNormalization(x, s, b) r = Add(n, z) y = Mul(r, c)"), op,
       "{LayerNormalization Add Mul}"},
      {"about zero", Text("a = Add(x, z) n = RMSNormalization(a, s) y = Cast<to = 1>(n)"),
       "RMSNormalization", "{Add RMSNormalization Cast}"},
      {"a sum that others read", Text("a = Add(x, z) y = LayerNormalization(a, s, b)", "y, a"), op,
       "{Add LayerNormalization}"},
      {"a sum that others read, before a cast",
       Text("a = Add(x, z) k = Cast<to = 1>(a) y = LayerNormalization(k, e)", "y, a"), op,
       "{Add Cast LayerNormalization}"},
  });
}

TEST_F(RowGroupTest, ReadsRowsOfATable) {
  const std::string op = "LayerNormalization";
  ExpectCases({
      {"an embedding", Text("a = Gather(h, i) r = Add(a, x) y = LayerNormalization(r, s, b)"), op,
       "{Gather Add LayerNormalization}"},
      {"an embedding that others read",
       Text("a = Gather(h, i) y = LayerNormalization(a, s)", "y, a"), op,
       "{Gather LayerNormalization}"},
      {"one of two",
       Text("a = Gather(h, i) k = Gather(h, i) r = Add(a, k) "
            "y = LayerNormalization(r, s, b)"),
       op, "{Gather Add LayerNormalization}", "a row group reads the rows of one table"},
      {"not along another axis",
       "g (float16[64,5] h, float16[2] s) => (y) <int64[2] i = {3, 1}> "
       "{ a = Gather<axis = 1>(h, i) y = LayerNormalization(a, s) }",
       op, "{LayerNormalization}"},
  });
}

TEST_F(RowGroupTest, LeavesWhatItCannotHold) {
  const std::string op = "LayerNormalization";
  constexpr std::string_view kOps = "row groups compute f32, f16 and bf16";
  ExpectCases({
      {"other types", Text("a = Cast<to = 10>(d) y = LayerNormalization(a, s)"), op,
       "{LayerNormalization}", std::string(kOps)},
      {"conditions", Text("n = LayerNormalization(x, s) y = Where(t, n, z)"), op,
       "{LayerNormalization}", std::string(kOps)},
      {"ops outside of chains", Text("n = LayerNormalization(x, s) y = Pow(n, z)"), op,
       "{LayerNormalization}", std::string(kOps)},
      {"a smaller operand", Text("a = Neg(b) y = LayerNormalization(x, a)"), op,
       "{LayerNormalization}"},
      {"a larger result",
       "g (float16[1,64] x, float16[64] s, float16[5,64] z) => (y) "
       "{ n = LayerNormalization(x, s) y = Add(n, z) }",
       op, "{LayerNormalization}", "the node writes another shape"},
      {"what it reads twice", Text("a = Add(x, z) n = LayerNormalization(a, s) y = Add(n, a)"), op,
       "{LayerNormalization Add}", "the node reads a value from before the norm"},
      {"several axes",
       "g (float16[2,4,16] x, float16[4,16] s) => (y) "
       "{ n = LayerNormalization<axis = 1>(x, s) y = Neg(n) }",
       op, "{LayerNormalization}"},
      {"long rows",
       "g (float16[2,8200] x, float16[8200] s) => (y) "
       "{ n = LayerNormalization(x, s) y = Neg(n) }",
       op, "{LayerNormalization}"},
      {"statistics", Text("n, v = LayerNormalization(x, s) y = Neg(n)", "y, v"), op,
       "{LayerNormalization}"},
      {"double precision",
       "g (double[2,64] x, double[64] s) => (y) { n = LayerNormalization(x, s) y = Neg(n) }", op,
       "{LayerNormalization}"},
  });
}

TEST_F(RowGroupTest, IsChosenForTheWholeGroup) {
  const Graph graph = GraphFromText(
      Text("a = Add(x, z) n = LayerNormalization(a, s, b) y = Cast<to = 1>(n)", "y, a"));
  ExpectChosen(graph, "kernel {Add LayerNormalization Cast}");
}

// A large batch is bound by memory: one launch reads and writes less than two.
TEST_F(RowGroupTest, CostsNoMoreThanItsParts) {
  for (const char* rows : {"8", "128", "4096"}) {
    const Graph graph =
        GraphFromText(absl::StrCat("g (float16[", rows, ",768] x, float16[", rows,
                                   ",768] z, float16[768] s, float16[768] b) => (y) "
                                   "{ a = Add(x, z) y = LayerNormalization(a, s, b) }"));
    double sum = 0, whole = 0;
    for (const char* op : {"Add", "LayerNormalization"}) {
      for (const Candidate& candidate : At(graph, op).candidates) {
        if (candidate.nodes.size() == 1) sum += candidate.cost.us;
        if (candidate.nodes.size() == 2) whole = candidate.cost.us;
      }
    }
    EXPECT_GT(whole, 0) << rows;
    EXPECT_LT(whole, sum) << rows;
  }
}

// Groups that decode their ops are for rows that are few.
TEST_F(RowGroupTest, ALargeProgramIsNotForGreedy) {
  for (const auto& [rows, is_beyond] : {std::pair("64", false), {"65536", true}}) {
    const Graph graph =
        GraphFromText(absl::StrCat("g (float16[", rows, ",768] x, float16[", rows,
                                   ",768] z, float16[768] s) => (y) "
                                   "{ a = Mul(x, z) n = LayerNormalization(a, s) y = Swish(n) }"));
    for (const Candidate& candidate : At(graph, "LayerNormalization").candidates) {
      EXPECT_EQ(candidate.beyond_fit, is_beyond && candidate.nodes.size() > 1)
          << rows << " " << Describe(candidate);
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn

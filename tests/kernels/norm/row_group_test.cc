// Which element-wise ops run in one launch with ops on rows, and at what price.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class RowGroupTest : public KernelsTest {
 protected:
  // Rows of 64 elements; half: 0.5, low: -10,000.
  static std::string Text(std::string_view nodes, std::string_view outputs = "y") {
    return absl::StrCat(
        "g (float16[2,5,64] x, float16[2,5,64] z, float[2,5,64] f, float16[64] s, float16[64] b, "
        "float16[2,5,1] m, float16[9,64] h,  float16[1,1,64] c, float[64] e, "
        "double[2,5,64] d, bool[2,5,64] t) => (",
        outputs,
        ") <int64[2,5] i = {0, 8, 1, 7, 2, 6, 3, 5, 4, 0}, int64[1] last = {-1}, int64[1] inner = "
        "{1}, float16 half = {14336}, float16 low = {61666}> { ",
        nodes, " }");
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
      {"a residual from before", Text("a = Add(x, z) n = LayerNormalization(a, s) y = Add(n, a)"),
       op, "{Add LayerNormalization Add}"},
      {"conditions", Text("n = LayerNormalization(x, s) y = Where(t, n, z)"), op,
       "{LayerNormalization Where}"},
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
      {"computed conditions",
       Text("n = LayerNormalization(x, s) g = Greater(n, z) y = Where(g, n, z)"), op,
       "{LayerNormalization}", std::string(kOps)},
      {"ops outside of chains", Text("n = LayerNormalization(x, s) y = Pow(n, z)"), op,
       "{LayerNormalization}", std::string(kOps)},
      {"a smaller operand", Text("a = Neg(b) y = LayerNormalization(x, a)"), op,
       "{LayerNormalization}"},
      {"a larger result",
       "g (float16[1,64] x, float16[64] s, float16[5,64] z) => (y) "
       "{ n = LayerNormalization(x, s) y = Add(n, z) }",
       op, "{LayerNormalization}", "the node writes another shape"},
      {"two values across the norm",
       Text("a = Add(x, z) k = Mul(a, z) n = LayerNormalization(k, s) p = Add(n, a) y = Sub(p, k)"),
       op, "{Mul LayerNormalization Add Sub}", "a row group keeps one value across a row op"},
      {"a second norm", Text("a = LayerNormalization(x, s) y = LayerNormalization(a, s, b)"), op,
       "{LayerNormalization}", "at most two ops on rows of one length, one of them a norm"},
      {"a scale that it would compute",
       "g (float16[64] x, float16[64] z) => (y) { a = Add(x, z) y = RMSNormalization(a, a) }",
       "RMSNormalization", "{RMSNormalization}", "reads the scale and the bias of a norm"},
      {"a scale that a row op computes",
       "g (float16[64] x) => (y) { p = Softmax(x) y = RMSNormalization(p, p) }", "Softmax",
       "{Softmax}", "reads the scale and the bias of a norm"},
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

TEST_F(RowGroupTest, HoldsSoftmax) {
  ExpectCases({
      {"scaled, masked and cast",
       Text("a = Mul(x, half) k = Add(a, m) p = Softmax(k) y = Cast<to = 1>(p)"), "Softmax",
       "{Mul Add Softmax Cast}"},
      {"a mask by conditions", Text("a = Where(t, x, low) p = Softmax(a) y = Mul(p, z)"), "Softmax",
       "{Where Softmax Mul}"},
      {"logarithms", Text("a = Div(x, half) p = LogSoftmax(a) y = Neg(p)"), "LogSoftmax",
       "{Div LogSoftmax Neg}"},
      {"a value from before", Text("a = Mul(x, z) p = Softmax(a) y = Mul(p, a)"), "Softmax",
       "{Mul Softmax Mul}"},
      {"not along another axis", Text("a = Mul(x, z) p = Softmax<axis = 1>(a) y = Neg(p)"),
       "Softmax", "{Softmax}"},
      {"not a product", Text("p = Softmax(x) k = Transpose<perm = [0, 2, 1]>(z) y = MatMul(p, k)"),
       "Softmax", "{Softmax}", "only element-wise ops join a kernel of ours"},
  });
}

TEST_F(RowGroupTest, HoldsReductions) {
  ExpectCases({
      {"x - mean(x)", Text("a = ReduceMean(x, last) y = Sub(x, a)"), "ReduceMean",
       "{ReduceMean Sub}"},
      {"x / sum(x), computed before", Text("u = Exp(x) a = ReduceSum(u, last) y = Div(u, a)"),
       "ReduceSum", "{Exp ReduceSum Div}"},
      {"an L2 norm",
       Text("q = Mul(x, x) a = ReduceSum(q, last) k = Add(a, half) r = Sqrt(k) y = Div(x, r)"),
       "ReduceSum", "{Mul ReduceSum Add Sqrt Div}"},
      {"the exporter's L2 norm", Text("a = ReduceL2(x, last) k = Max(a, half) y = Div(x, k)"),
       "ReduceL2", "{ReduceL2 Max Div}"},
      {"one element per row",
       Text("k = Abs(x) a = ReduceMax<keepdims = 0>(k, last) y = Cast<to = 1>(a)"), "ReduceMax",
       "{Abs ReduceMax Cast}"},
      {"an element per row that others read",
       Text("a = ReduceMin(x, last) k = Neg(a) y = Add(x, k)", "y, k"), "ReduceMin",
       "{ReduceMin Neg Add}"},
      // [64] broadcasts along other axes than the rows.
      {"not an element per row without its axis",
       "g (float16[64,64] x) => (y) <int64[1] last = {1}> "
       "{ a = ReduceSum<keepdims = 0>(x, last) y = Div(x, a) }",
       "ReduceSum", "{ReduceSum}", "the node writes another shape"},
      {"not along another axis", Text("k = Abs(x) a = ReduceSum(k, inner) y = Div(x, a)"),
       "ReduceSum", "{ReduceSum}"},
      {"not of integers",
       "g (int64[4,8] x) => (y) <int64[1] last = {1}> { a = ReduceSum(x, last) y = Sub(x, a) }",
       "ReduceSum", "{ReduceSum}"},
  });
}

TEST_F(RowGroupTest, HoldsTwoRowOps) {
  constexpr std::string_view kSoftmax =
      "a = Mul(x, half) n = ReduceMax(a, last) k = Sub(a, n) u = Exp(k) "
      "v = ReduceSum(u, last) y = Div(u, v)";
  ExpectCases({
      {"a softmax of its parts", Text(kSoftmax), "ReduceMax",
       "{Mul ReduceMax Sub Exp ReduceSum Div}"},
      {"a variance",
       Text("a = ReduceMean(x, last) k = Sub(x, a) q = Mul(k, k) y = ReduceMean(q, last)"),
       "ReduceMean", "{ReduceMean Sub Mul ReduceMean}"},
      {"a norm and its largest element",
       Text("n = LayerNormalization(x, s) k = Abs(n) y = ReduceMax(k, last)"), "LayerNormalization",
       "{LayerNormalization Abs ReduceMax}"},
      {"not three",
       Text("a = ReduceMean(x, last) k = Sub(x, a) q = Softmax(k) r = ReduceMax(q, last) "
            "y = Sub(q, r)"),
       "ReduceMean", "{ReduceMean Sub Softmax}", "at most two ops on rows of one length"},
      {"not a value whose place another one takes before it is read",
       Text("a = Mul(x, z) p = Softmax(a) k = Add(p, a) n = ReduceSum(k, last) y = Div(p, n)"),
       "Softmax", "{Softmax Add ReduceSum Div}", "a row group keeps one value across a row op"},
      {"not of an element per row", Text("a = ReduceMean(x, last) y = Softmax(a)"), "ReduceMean",
       "{ReduceMean}", "at most two ops on rows of one length"},
  });
  ExpectChosen(GraphFromText(Text(kSoftmax)), "kernel {Mul ReduceMax Sub Exp ReduceSum Div}");
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

// One pass over memory: the group costs less than its launches, and ops alone keep their kernels.
TEST_F(RowGroupTest, PricesOnePass) {
  const Graph graph = GraphFromText(
      "g (float16[4096,768] x, float16[4096,768] z) => (y) "
      "{ a = Add(x, z) p = Softmax(a) y = Cast<to = 1>(p) }");
  double sum = 0, whole = 0;
  for (const char* op : {"Add", "Softmax", "Cast"}) {
    for (const Candidate& candidate : At(graph, op).candidates) {
      if (candidate.nodes.size() == 1) sum += candidate.cost.us;
      if (candidate.nodes.size() == 3) whole = candidate.cost.us;
    }
  }
  // Read: two of 2 bytes an element; written: one of 4. Apart: 20 instead of 8 bytes. It takes
  // longer than its bytes do, because of its arithmetic.
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, sum * 0.65);
  for (const char* text : {"y = Softmax(x)", "y = ReduceSum(x, last)"}) {
    const Graph alone = GraphFromText(Text(text));
    const Node& node = *alone.outputs()[0].value->producer();
    const auto variants = engine_->Variants(At(alone, node).candidates[0], target_);
    ASSERT_TRUE(variants.ok());
    EXPECT_NE(variants->front().text, "row_group") << text;
  }
}

TEST_F(RowGroupTest, PricesWhatWasMeasured) {
  struct Case {
    const char *text, *anchor;
    double f32_us, f16_us;
  };
  // On an H200: tools/bench/results/kernels-2026-11-28-af53e2d.json.
  constexpr Case kCases[] = {
      {"g ($0[32768,1024] x, $0[32768,1024] z, $0[1024] s, $0[1024] b) => (r, y) "
       "{ r = Add(x, z) y = LayerNormalization<axis = -1>(r, s, b) }",
       "LayerNormalization", 136.0, 92.9},
      {"g ($0[32768,1024] x, $0[1,1024] m) => (y) { a = Add(x, m) y = Softmax(a) }", "Softmax",
       69.8, 55.0},
      {"g ($0[131072,197] x, $0[1,197] m) => (y) { a = Add(x, m) y = Softmax(a) }", "Softmax", 75.7,
       84.9},
      {"g ($0[32768,1024] x) => (y) <int64[1] last = {1}> { m = ReduceMax(x, last) "
       "a = Sub(x, m) e = Exp(a) s = ReduceSum(e, last) y = Div(e, s) }",
       "ReduceMax", 311.9, 314.9}};
  for (const Case& c : kCases) {
    for (const auto& [type, measured_us] :
         {std::pair("float", c.f32_us), std::pair("float16", c.f16_us)}) {
      const Graph graph = GraphFromText(absl::Substitute(c.text, type));
      double us = 0;
      for (const Candidate& candidate : At(graph, c.anchor).candidates) {
        if (candidate.nodes.size() != graph.TopologicalOrder().size()) continue;
        us = candidate.cost.us;
        if (candidate.beyond_fit) us /= target_.info.calibration.kernels.beyond_fit;
      }
      EXPECT_GT(us, measured_us * 0.8) << c.text << " " << type;
      EXPECT_LT(us, measured_us * 1.25) << c.text << " " << type;
    }
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

// Comparisons of integers are not part of a group: with the group, each would be a launch.
TEST_F(RowGroupTest, GreedyLeavesWhatReadsSeveralComparisonsToTheirLaunch) {
  const Graph graph = GraphFromText(R"(
      g (int64[20,1] i, int64[20,1] j, float[20,3] p, float[20,3] q) => (y)
      <int64[3] k = {0, 1, 2}, int64[1] last = {-1}, float zero = {0}>
      { e = Equal(i, k) a = Where(e, p, zero)
        f = Equal(j, k) b = Where(f, q, zero)
        s = Add(a, b) y = ReduceSum(s, last) })");
  ExpectChosen(graph, "kernel {Equal Where Equal Where Add}", {Greedy});
}

}  // namespace
}  // namespace onnx_cudnn

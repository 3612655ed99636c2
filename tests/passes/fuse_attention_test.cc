#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/verify.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// f16 numbers are given by their bits: 14336 is 0.5, 16384 is 2.
constexpr std::string_view kOperands =
    "float16[2,4,16,32] q, float16[2,4,24,32] k, float16[2,4,24,32] v";

class FuseAttentionTest : public ::testing::Test {
 protected:
  FuseAttentionTest() : owned_(*MakeTarget("h200")) {}

  struct Fused {
    Graph graph;
    bool changed = false;
    std::vector<Remark> remarks;
  };
  Fused Fuse(std::string_view text) const {
    Fused fused{.graph = GraphFromText(text)};
    PassContext context{.target = &owned_.target, .remarks = &fused.remarks};
    const absl::StatusOr<bool> changed = FuseAttention()->Run(fused.graph, context);
    EXPECT_TRUE(changed.ok()) << changed.status();
    EXPECT_TRUE(Verify(fused.graph).ok()) << Verify(fused.graph);
    fused.changed = changed.value_or(false);
    return fused;
  }

  // "" instead of the Nodes if nothing changes.
  std::string NodesOf(std::string_view text) const {
    Fused fused = Fuse(text);
    if (!fused.changed) return "";
    ExpectSame(GraphFromText(text), fused.graph);
    const std::string printed = PrintOnOneLine(fused.graph);
    const size_t open = printed.find("{ ", printed.find("=> ("));
    return printed.substr(open + 2, printed.size() - open - 4);
  }
  // The result for operands q, k, v and other inputs.
  std::string Attention(std::string_view nodes, std::string_view more = "",
                        std::string_view constants = "") const {
    return NodesOf(absl::StrCat("g (", kOperands, more, ") => (float16[2,4,16,32] y) <", constants,
                                "> {", nodes, "}"));
  }
  void ExpectStays(std::string_view text, std::string_view reason) const {
    SCOPED_TRACE(text);
    const int nodes = GraphFromText(text).node_count();
    const Fused fused = Fuse(text);
    EXPECT_FALSE(fused.changed) << PrintOnOneLine(fused.graph);
    EXPECT_EQ(fused.graph.node_count(), nodes);
    const bool says = std::any_of(fused.remarks.begin(), fused.remarks.end(), [&](const Remark& r) {
      return r.reason.find(reason) != std::string::npos;
    });
    EXPECT_EQ(reason.empty() ? fused.remarks.empty() : says, true)
        << (fused.remarks.empty() ? "no remark" : fused.remarks[0].reason);
  }
  // The same for the usual operands.
  void ExpectAttentionStays(std::string_view nodes, std::string_view reason,
                            std::string_view constants = "") const {
    ExpectStays(absl::StrCat("g (", kOperands, ") => (y) <", constants, "> {", nodes, "}"), reason);
  }

  // To within the rounding of f16.
  static void ExpectSame(const Graph& before, const Graph& after) {
    std::vector<HostTensor> inputs;
    for (const Value* v : before.inputs()) {
      inputs.push_back(NumbersFor(*v, static_cast<int>(inputs.size())));
    }
    ExpectSameHalves(before, after, inputs);
  }

  // Between -1 and 1, other ones for each input; bools are mostly true.
  static HostTensor NumbersFor(const Value& value, int input) {
    HostTensor tensor = HostTensor::Allocate(value.dtype(), value.dims());
    for (int64_t i = 0; i < value.elements(); ++i) {
      const auto number = static_cast<float>(std::sin(1.7 * static_cast<double>(i) + input));
      if (value.dtype() == DType::kF16) {
        tensor.mutable_data<Float16>()[i] = ToFloat16(number);
      } else if (value.dtype() == DType::kBool) {
        tensor.mutable_data<uint8_t>()[i] = number > -0.5F ? 1 : 0;
      } else {
        tensor.mutable_data<float>()[i] = number;
      }
    }
    return tensor;
  }

  const OwnedTarget owned_;
};

constexpr std::string_view kFused = "y_0 = Attention<scale = 0.25>(q, k, v)";

// torch.onnx.export(dynamo=False).
TEST_F(FuseAttentionTest, BothOperandsAreScaled) {
  EXPECT_EQ(Attention("a = Mul(q, s) t = Transpose<perm = [0,1,3,2]>(k) b = Mul(t, s) "
                      "c = MatMul(a, b) p = Softmax<axis = -1>(c) y = MatMul(p, v)",
                      "", "float16[1] s = {14336}"),
            kFused);
}

// torch.onnx.export(dynamo=True) transposes k as a stack of matrices.
TEST_F(FuseAttentionTest, KeysAreTransposedAsAStack) {
  EXPECT_EQ(Attention("r = Reshape(k, stack) t = Transpose<perm = [0,2,1]>(r) "
                      "u = Reshape(t, heads) a = Mul(q, s) b = Mul(u, s) c = MatMul(a, b) "
                      "p = Softmax<axis = -1>(c) y = MatMul(p, v)",
                      "",
                      "float16[1] s = {14336}, int64[3] stack = {8, 24, 32}, "
                      "int64[4] heads = {2, 4, 32, 24}"),
            kFused);
}

// transformers with attn_implementation="eager" folds both Transposes of k into one.
TEST_F(FuseAttentionTest, TheHeadsAreTransposedWithTheKeys) {
  EXPECT_EQ(NodesOf("g (float16[2,4,16,32] q, float16[2,24,4,32] x, float16[2,4,24,32] v) => "
                    "(float16[2,4,16,32] y) <float16 s = {16384}> "
                    "{ t = Transpose<perm = [0,2,3,1]>(x) c = MatMul(q, t) d = Div(c, s) "
                    "p = Softmax(d) y = MatMul(p, v) }"),
            "transpose = Transpose<perm = [0, 2, 1, 3]>(x) "
            "y_0 = Attention<scale = 0.5>(q, transpose, v)");
}

TEST_F(FuseAttentionTest, KeysThatAreColumnsAreTransposed) {
  EXPECT_EQ(NodesOf("g (float16[2,4,16,32] q, float16[2,4,32,24] k, float16[2,4,24,32] v) => "
                    "(float16[2,4,16,32] y) { c = MatMul(q, k) p = Softmax(c) y = MatMul(p, v) }"),
            "transpose = Transpose<perm = [0, 1, 3, 2]>(k) "
            "y_0 = Attention<scale = 1.0>(q, transpose, v)");
}

TEST_F(FuseAttentionTest, AMaskIsAdded) {
  for (const char* sum : {"Add(c, m)", "Add(m, c)"}) {
    EXPECT_EQ(Attention(absl::StrCat("t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = ",
                                     sum, " p = Softmax(d) y = MatMul(p, v)"),
                        ", float16[2,1,16,24] m"),
              "y_0 = Attention<scale = 1.0>(q, k, v, m)");
  }
}

// As lower-precision leaves it, and as fp16 models compute it.
TEST_F(FuseAttentionTest, TheSoftmaxIsInF32) {
  EXPECT_EQ(Attention("t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Mul(c, s) "
                      "f = Cast<to = 1>(d) e = Add(f, m) p = Softmax(e) h = Cast<to = 10>(p) "
                      "y = MatMul(h, v)",
                      ", float[2,1,1,24] m", "float16 s = {14336}"),
            "isinf = IsInf(m) max = Max(m, {-1e+30}) where = Where(isinf, m, max) "
            "y_0 = Attention<scale = 0.5>(q, k, v, where)");
}

constexpr std::string_view kGuarded =
    "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Where(m, zero, low) e = Add(c, d) "
    "p = Softmax(e) n = IsNaN(p) w = Where(n, zero, p) y = MatMul(w, v)";

// Both exporters, for masks of bools. 64512 is -inf.
TEST_F(FuseAttentionTest, ARowWithoutKeysIsZero) {
  EXPECT_EQ(Attention(kGuarded, ", bool[2,1,16,24] m", "float16 zero = {0}, float16 low = {64512}"),
            "d = Where(m, {0}, {-inf}) y_0 = Attention<scale = 1.0>(q, k, v, d)");
}

TEST_F(FuseAttentionTest, AMaskThatSelectsIsAdded) {
  const std::string_view nodes =
      "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) f = Cast<to = 1>(c) "
      "e = Where(m, f, low) p = Softmax(e) h = Cast<to = 10>(p) y = MatMul(h, v)";
  EXPECT_EQ(Attention(nodes, ", bool[1,1,16,24] m", "float low = {-1e30}"),
            "where = Where(m, {0}, {-1e+30}) y_0 = Attention<scale = 1.0>(q, k, v, where)");
}

TEST_F(FuseAttentionTest, MasksAreSummed) {
  EXPECT_EQ(Attention("t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Add(c, m) "
                      "e = Add(d, n) p = Softmax(e) y = MatMul(p, v)",
                      ", float16[1,4,16,24] m, float16[2,1,1,24] n"),
            "add = Add(m, n) y_0 = Attention<scale = 1.0>(q, k, v, add)");
}

TEST_F(FuseAttentionTest, MasksOfTwoTypesAreSummedInF32) {
  EXPECT_EQ(Attention("t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Add(c, m) "
                      "f = Cast<to = 1>(d) e = Add(f, n) p = Softmax(e) h = Cast<to = 10>(p) "
                      "y = MatMul(h, v)",
                      ", float16[1,4,16,24] m, float[24] n"),
            "cast = Cast<to = 1>(m) add = Add(cast, n) isinf = IsInf(add) "
            "max = Max(add, {-1e+30}) where = Where(isinf, add, max) "
            "y_0 = Attention<scale = 1.0>(q, k, v, where)");
}

// Windows of Swin: the mask of each window is added to the scores of each image.
TEST_F(FuseAttentionTest, MasksOfWindowsAreAddedToAll) {
  const auto fused = [&](std::string_view split, std::string_view masks,
                         std::string_view bias = "[1,2,4,4]") {
    return NodesOf(
        absl::StrCat("g (float16[6,2,4,8] q, float16[6,2,4,8] k, float16[6,2,4,8] v, float16", bias,
                     " b, float16", masks, " m) => (float16[6,2,4,8] y) <int64[5] split = {", split,
                     ", 2, 4, 4}, int64[4] joined = {6, 2, 4, 4}> "
                     "{ t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Add(c, b) "
                     "e = Reshape(d, split) f = Add(e, m) h = Reshape(f, joined) p = Softmax(h) "
                     "y = MatMul(p, v) }"));
  };
  EXPECT_EQ(fused("1, 6", "[1,6,1,4,4]"),
            "add = Add(b, m) reshape = Reshape(add, {6, 2, 4, 4}) "
            "y_0 = Attention<scale = 1.0>(q, k, v, reshape)");
  EXPECT_EQ(fused("2, 3", "[1,3,1,4,4]"),
            "add = Add(b, m) expand = Expand(add, {2, 3, 2, 4, 4}) "
            "reshape = Reshape(expand, {6, 2, 4, 4}) "
            "y_1 = Attention<scale = 1.0>(q, k, v, reshape)");
  EXPECT_EQ(fused("2, 3", "[1,1,2,4,4]"),
            "add = Add(b, m) reshape = Reshape(add, {1, 2, 4, 4}) "
            "y_0 = Attention<scale = 1.0>(q, k, v, reshape)");
  EXPECT_EQ(fused("3, 2", "[4,4]"), "add = Add(b, m) y_0 = Attention<scale = 1.0>(q, k, v, add)");
  EXPECT_EQ(fused("2, 3", "[1,3,1,4,4]", "[6,1,4,4]"),
            "reshape = Reshape(b, {2, 3, 1, 4, 4}) add = Add(reshape, m) "
            "reshape_1 = Reshape(add, {6, 1, 4, 4}) "
            "y_2 = Attention<scale = 1.0>(q, k, v, reshape_1)");
}

// T5: a bias per head from a table by the distance of query and key, and a mask; no scale.
TEST_F(FuseAttentionTest, ATableOfDistancesIsAdded) {
  const std::string bias =
      "e = Mul(n, eight) i = Cast<to = 7>(e) r = Gather(table, i) "
      "s = Transpose<perm = [2, 0, 1]>(r) u = Unsqueeze(s, {0}) b = Add(u, m) ";
  EXPECT_EQ(Attention(absl::StrCat(absl::StrReplaceAll(bias, {{"{0}", "zero"}}),
                                   "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                                   "d = Add(c, b) f = Cast<to = 1>(d) p = Softmax(f) "
                                   "h = Cast<to = 10>(p) y = MatMul(h, v)"),
                      ", float16[8,4] table, float[16,24] n, float16[2,1,1,24] m",
                      "int64[1] zero = {0}, float eight = {7.5}"),
            absl::StrCat(absl::StrReplaceAll(bias, {{"eight", "{7.5}"}}),
                         "y_0 = Attention<scale = 1.0>(q, k, v, b)"));
}

// ALiBi: a slope of each head times the distance; where keys are too far away or later, a Where
// excludes them, as in a sliding window.
TEST_F(FuseAttentionTest, SlopesAndAWindow) {
  EXPECT_EQ(Attention("b = Mul(slopes, n) t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                      "g = Mul(c, scale) d = Add(g, b) e = Where(seen, d, least) p = Softmax(e) "
                      "y = MatMul(p, v)",
                      ", float16[4,1,1] slopes, float16[1,1,24] n, bool[16,24] seen",
                      "float16 scale = {14336}, float16 least = {64512}"),
            "b = Mul(slopes, n) where = Where(seen, {0}, {-inf}) add = Add(b, where) "
            "y_0 = Attention<scale = 0.5>(q, k, v, add)");
}

// Of three queries and keys.
std::string WithConstantMask(std::string_view numbers, std::string_view dims = "[3,3]") {
  return absl::StrCat(
      "g (float16[1,2,3,8] q, float16[1,2,3,8] k, float16[1,2,3,8] v) => (float16[1,2,3,8] y) "
      "<float",
      dims, " m = {", numbers,
      "}> "
      "{ t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) f = Cast<to = 1>(c) e = Add(f, m) "
      "p = Softmax(e) h = Cast<to = 10>(p) y = MatMul(h, v) }");
}

TEST_F(FuseAttentionTest, AConstantMaskMayBeCausal) {
  const std::string_view causal = "y_0 = Attention<is_causal = 1, scale = 1.0>(q, k, v)";
  EXPECT_EQ(NodesOf(WithConstantMask("0,-1e38,-1e38, 0,0,-1e38, 0,0,0")), causal);
  EXPECT_EQ(NodesOf(WithConstantMask("0,-1e38,-1e38, 0,0,-1e38, 0,0,0", "[1,1,3,3]")), causal);
  EXPECT_EQ(NodesOf(WithConstantMask("0,0,0, 0,0,0, 0,0,0")),
            "y_0 = Attention<scale = 1.0>(q, k, v)");
}

TEST_F(FuseAttentionTest, OtherConstantMasksStay) {
  for (const char* numbers :
       {"0,-1e38,-1e38, 0,0,-1e4, 0,0,0", "0,-1e38,-1e38, 0,0,-1e38, 0,1,0",
        "0,0,-1e38, 0,0,-1e38, 0,0,0", "0,-1e38,-1e38, -1e38,0,-1e38, 0,0,0"}) {
    const std::string nodes = NodesOf(WithConstantMask(numbers));
    EXPECT_TRUE(nodes.find("is_causal") == nodes.npos && nodes.find("(q, k, v, ") != nodes.npos)
        << nodes;
  }
}

// Where(causal, scores, lowest), as GPT-2 was exported.
TEST_F(FuseAttentionTest, AConstantConditionMayBeCausal) {
  EXPECT_EQ(NodesOf("g (float16[1,2,2,8] q, float16[1,2,2,8] k, float16[1,2,2,8] v) => "
                    "(float16[1,2,2,8] y) <bool[1,1,2,2] m = {1, 0, 1, 1}, float low = {-3e38}> "
                    "{ t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) f = Cast<to = 1>(c) "
                    "e = Where(m, f, low) p = Softmax(e) h = Cast<to = 10>(p) y = MatMul(h, v) }"),
            "y_0 = Attention<is_causal = 1, scale = 1.0>(q, k, v)");
}

// torch's enable_gqa, and repeat_kv of transformers.
TEST_F(FuseAttentionTest, RepeatedHeadsAreShared) {
  EXPECT_EQ(NodesOf("g (float16[2,4,16,32] q, float16[2,2,24,32] x, float16[2,2,24,32] z) => "
                    "(float16[2,4,16,32] y) <int64[1] two = {2}, "
                    "int64[5] groups = {2, 2, 2, 24, 32}, int64[4] heads = {2, 4, 24, 32}, "
                    "int64[3] stack = {8, 24, 32}, int64[4] columns = {2, 4, 32, 24}> "
                    "{ a = Unsqueeze(x, two) b = Expand(a, groups) r = Reshape(b, stack) "
                    "t = Transpose<perm = [0,2,1]>(r) k = Reshape(t, columns) "
                    "d = Unsqueeze(z, two) e = Expand(d, groups) v = Reshape(e, heads) "
                    "c = MatMul(q, k) p = Softmax(c) y = MatMul(p, v) }"),
            "y_0 = Attention<scale = 1.0>(q, x, z)");
}

TEST_F(FuseAttentionTest, LeavesWhatOthersRead) {
  const std::string_view head = "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) ";
  const auto text = [&](std::string_view outputs, std::string_view nodes) {
    return absl::StrCat("g (", kOperands, ") => (", outputs, ") {", head, nodes, "}");
  };
  ExpectStays(text("y, z", "p = Softmax(c) y = MatMul(p, v) z = Neg(p)"),
              "its weights have other readers");
  ExpectStays(text("y, p", "p = Softmax(c) y = MatMul(p, v)"), "its weights have other readers");
  ExpectStays(text("y, z", "p = Softmax(c) y = MatMul(p, v) z = Neg(c)"),
              "its scores have other readers");
  ExpectStays(text("y, c", "p = Softmax(c) y = MatMul(p, v)"), "its scores have other readers");
}

TEST_F(FuseAttentionTest, LeavesOtherScales) {
  const std::string_view tail = " p = Softmax(d) y = MatMul(p, v)";
  const std::string head = "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) ";
  // One number per key, and one that is no constant.
  ExpectAttentionStays(absl::StrCat(head,
                                    "u = Transpose<perm = [3,1,2,0]>(v) "
                                    "r = ReduceSum(u) d = Mul(c, r)",
                                    tail),
                       "");
  for (const char* number : {"0", "47104", "31744"}) {  // 0, -0.5, infinity
    ExpectAttentionStays(absl::StrCat(head, "d = Mul(c, s)", tail),
                         "its scale is not a positive number",
                         absl::StrCat("float16 s = {", number, "}"));
  }
  ExpectStays(absl::StrCat("g (", kOperands, ", float16[24] m) => (y) <float16 s = {14336}> {",
                           head, "e = Add(c, m) d = Mul(e, s)", tail, "}"),
              "its mask is scaled");
}

TEST_F(FuseAttentionTest, LeavesOtherForms) {
  const std::string_view nodes =
      "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) p = Softmax<axis = 2>(c) "
      "y = MatMul(p, v)";
  ExpectAttentionStays(nodes, "its Softmax is not along the keys");
  const std::string keys = absl::StrReplaceAll(nodes, {{"<axis = 2>", ""}});
  ExpectStays(
      absl::StrCat("g (float[2,4,16,32] q, float[2,4,24,32] k, float[2,4,24,32] v) => (y) {", keys,
                   "}"),
      "its operands are not f16 or bf16 of four dims");
  ExpectStays(
      "g (float16[8,16,32] q, float16[8,32,24] k, float16[8,24,32] v) => (y) "
      "{ c = MatMul(q, k) p = Softmax(c) y = MatMul(p, v) }",
      "its scores have not four dims");
  ExpectStays(absl::StrCat("g (float16[N,4,16,32] q, float16[N,4,24,32] k, float16[N,4,24,32] v) "
                           "=> (y) {",
                           keys, "}"),
              "");
  // Neither cuDNN nor our kernel, whose heads would take more shared memory than there is.
  ExpectStays(absl::StrCat("g (float16[2,4,16,12] q, float16[2,4,4096,12] k, "
                           "float16[2,4,4096,12] v) => (y) {",
                           keys, "}"),
              "no engine takes it whole");
  // A score of -10,000 is not the same as one that is 10,000 smaller.
  ExpectStays(absl::StrCat("g (", kOperands, ", bool[1,1,16,24] m) => (y) <float low = {-10000}> {",
                           "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                           "f = Cast<to = 1>(c) e = Where(m, f, low) p = Softmax(e) "
                           "h = Cast<to = 10>(p) y = MatMul(h, v) }"),
              "");
}

TEST_F(FuseAttentionTest, AnOlderFileLacksTheOp) {
  Graph graph =
      GraphFromText(absl::StrCat("g (", kOperands,
                                 ") => (y) { t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                                 "p = Softmax(c) y = MatMul(p, v) }"));
  PassContext context{.target = &owned_.target, .newest_opset = 24};
  EXPECT_FALSE(*FuseAttention()->Run(graph, context));
  context.newest_opset = 25;
  EXPECT_TRUE(*FuseAttention()->Run(graph, context));
}

TEST_F(FuseAttentionTest, LeavesTheOpsToTheCpu) {
  Graph graph =
      GraphFromText(absl::StrCat("g (", kOperands,
                                 ") => (y) { t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                                 "p = Softmax(c) y = MatMul(p, v) }"));
  const OwnedTarget cpu = *MakeTarget("cpu");
  for (const Target* target : {static_cast<const Target*>(nullptr), &cpu.target}) {
    PassContext context{.target = target};
    EXPECT_FALSE(*FuseAttention()->Run(graph, context));
  }
}

// Bound for a GPU, f32 arithmetic in f16: the Transposes of the heads stay for the Engine.
TEST_F(FuseAttentionTest, RunsWhenShapesAreBound) {
  const Graph graph = GraphFromText(
      "g (float16[N,24,128] x) => (y) <int64[4] split = {0, 24, 4, 32}, "
      "int64[3] joined = {0, 24, 128}> "
      "{ a = Reshape(x, split) q = Transpose<perm = [0,2,1,3]>(a) b = Neg(x) "
      "c = Reshape(b, split) k = Transpose<perm = [0,2,3,1]>(c) d = Abs(x) "
      "e = Reshape(d, split) v = Transpose<perm = [0,2,1,3]>(e) s = MatMul(q, k) p = Softmax(s) "
      "m = MatMul(p, v) o = Transpose<perm = [0,2,1,3]>(m) y = Reshape(o, joined) }");
  BuildOptions options;
  const auto ops_of = [&] {
    std::vector<std::string> ops;
    const absl::StatusOr<Graph> bound =
        BindShapes(graph, {{"x", {2, 24, 128}}}, options, &owned_.target);
    EXPECT_TRUE(bound.ok()) << bound.status();
    for (const Node* node : bound->TopologicalOrder()) ops.push_back(node->op());
    return ops;
  };
  const std::vector<std::string> fused = ops_of();
  EXPECT_EQ(std::count(fused.begin(), fused.end(), "Attention"), 1);
  EXPECT_EQ(std::count(fused.begin(), fused.end(), "Transpose"), 4);
  EXPECT_EQ(std::count(fused.begin(), fused.end(), "Softmax"), 0);
  options.disabled_passes = {"fuse-attention"};
  const std::vector<std::string> left = ops_of();
  EXPECT_EQ(std::count(left.begin(), left.end(), "Softmax"), 1);
}

}  // namespace
}  // namespace onnx_cudnn

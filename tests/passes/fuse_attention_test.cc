#include "tests/passes/fuse_attention_fixture.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "passes/build_program.h"

namespace onnx_cudnn {
namespace {

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

// As transformers computes a mask: the lowest f32 where there is padding.
TEST_F(FuseAttentionTest, AMaskOfTwoNumbersIsChosenAgain) {
  const auto fused = [&](std::string_view mask) {
    return Attention(absl::StrCat(mask,
                                  " t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                                  "f = Cast<to = 1>(c) e = Add(f, m) p = Softmax(e) "
                                  "h = Cast<to = 10>(p) y = MatMul(h, v)"),
                     ", bool[2,1,1,24] b",
                     "float low = {-3.4028235e38}, float zero = {0}, float one = {1}");
  };
  const std::string product =
      "where = Where(b, {-1e+30}, {0}) y_0 = Attention<scale = 1.0>(q, k, v, where)";
  EXPECT_EQ(fused("g = Cast<to = 1>(b) m = Mul(g, low)"), product);
  EXPECT_EQ(fused("g = Cast<to = 1>(b) m = Mul(low, g)"), product);
  EXPECT_EQ(fused("m = Where(b, zero, low)"),
            "where = Where(b, {0}, {-1e+30}) y_0 = Attention<scale = 1.0>(q, k, v, where)");
  // 1 - g may be any number.
  EXPECT_EQ(fused("g = Cast<to = 1>(b) i = Sub(one, g) m = Mul(i, low)"),
            "g = Cast<to = 1>(b) i = Sub({1}, g) m = Mul(i, {-3.4028235e+38}) isinf = IsInf(m) "
            "max = Max(m, {-1e+30}) where = Where(isinf, m, max) "
            "y_0 = Attention<scale = 1.0>(q, k, v, where)");
}

// Every layer reads the same mask, which is computed once.
TEST_F(FuseAttentionTest, LayersShareAMask) {
  const auto layers = [&](std::string_view mask) {
    const std::string layer =
        "c$0 = MatMul(q, t) f$0 = Cast<to = 1>(c$0) e$0 = Add(f$0, m) p$0 = Softmax(e$0) "
        "h$0 = Cast<to = 10>(p$0) y$0 = MatMul(h$0, v) ";
    return NodesOf(absl::StrCat(
        "g (", kOperands, ", bool[2,1,1,24] b, float[2,1,1,24] n) => (float16[2,4,16,32] y0, ",
        "float16[2,4,16,32] y1) <float low = {-3.4028235e38}> { ", mask,
        " t = Transpose<perm = [0,1,3,2]>(k) ", absl::Substitute(layer, 0),
        absl::Substitute(layer, 1), "}"));
  };
  EXPECT_EQ(layers("g = Cast<to = 1>(b) m = Mul(g, low)"),
            "where = Where(b, {-1e+30}, {0}) y0_0 = Attention<scale = 1.0>(q, k, v, where) "
            "y1_3 = Attention<scale = 1.0>(q, k, v, where)");
  EXPECT_EQ(layers("m = Add(n, n)"),
            "m = Add(n, n) isinf = IsInf(m) max = Max(m, {-1e+30}) where = Where(isinf, m, max) "
            "y0_0 = Attention<scale = 1.0>(q, k, v, where) "
            "y1_2 = Attention<scale = 1.0>(q, k, v, where)");
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
      "its operands are not f16 or bf16 of as many dims");
  ExpectStays(
      "g (float16[16,32] q, float16[32,24] k, float16[24,32] v) => (y) "
      "{ c = MatMul(q, k) p = Softmax(c) y = MatMul(p, v) }",
      "its scores have not three to five dims");
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

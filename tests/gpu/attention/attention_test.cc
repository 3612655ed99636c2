// The kernel attention against the references of its Nodes.
#include <string>
#include <utility>

#include "absl/strings/substitute.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class AttentionTest : public KernelTest {
 protected:
  struct Shape {
    std::string heads;
    int64_t queries, keys, depth, columns;
  };

  // Runs all of `nodes` as one launch; k is [keys, depth], m the mask, s the scale.
  void Check(const Shape& shape, const std::string& mask, const std::string& nodes,
             const std::string& dtype) {
    const std::string text = absl::Substitute(
        "g ($0[$1,$2,$4] q, $0[$1,$3,$4] k, $6 m, $0[$1,$3,$5] v, $0 s) => (y) { $7 }", dtype,
        shape.heads, shape.queries, shape.keys, shape.depth, shape.columns, mask, nodes);
    SCOPED_TRACE(text);
    Graph graph = GraphFromText(text);
    const int last = static_cast<int>(graph.inputs().size()) - 1;
    Value& s = *graph.inputs()[last];
    graph.ReplaceAllUses(s, graph.AddConstant(TensorOf(s.dtype(), {}, {0.13})));
    graph.RemoveInput(last);
    EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "Softmax", target()), target()), 0);
  }
  void CheckAllTypes(const Shape& shape, const std::string& mask, const std::string& nodes) {
    for (const char* dtype : {"float", "float16", "bfloat16"}) {
      Check(shape, dtype + mask, nodes, dtype);
    }
  }
};

constexpr char kMasked[] =
    "a = Mul(q, s) t = Transpose<perm = [0,1,3,2]>(k) b = MatMul(a, t) c = Add(b, m) "
    "p = Softmax(c) y = MatMul(p, v)";

TEST_F(AttentionTest, OfTextRecognition) {
  CheckAllTypes({"1,8", 40, 40, 15, 15}, "[1,1,1,40]", kMasked);
}

TEST_F(AttentionTest, OfOtherShapes) {
  CheckAllTypes({"1,2", 9, 7, 8, 24}, "[9,7]", kMasked);
  CheckAllTypes({"2,1", 3, 130, 40, 24}, "[2,1,3,1]", kMasked);
  CheckAllTypes({"1,1", 5, 200, 24, 70}, "[200]", kMasked);
}

TEST_F(AttentionTest, ScaledAfterTheProduct) {  // k is read first, and has the shape of q
  CheckAllTypes({"2,3", 40, 40, 15, 15}, "[2,3,40,40]",
                "t = Transpose<perm = [0,1,3,2]>(k) b = MatMul(q, t) c = Mul(b, s) d = Add(c, m) "
                "p = Softmax(d) y = MatMul(p, v)");
}

TEST_F(AttentionTest, MaskedInF32) {
  for (const auto& [dtype, number] : {std::pair("float16", 10), std::pair("bfloat16", 16)}) {
    const std::string nodes = absl::Substitute(
        "a = Mul(q, s) t = Transpose<perm = [0,1,3,2]>(k) b = MatMul(a, t) f = Cast<to = 1>(b) "
        "c = Add(f, m) p = Softmax(c) h = Cast<to = $0>(p) y = MatMul(h, v)",
        number);
    Check({"2,3", 40, 40, 15, 15}, "float[2,1,1,40]", nodes, dtype);
    Check({"2,12", 96, 64, 24, 24}, "float[64]", nodes, dtype);
  }
}

// A warp processes four queries at once, with more shared memory than a launch gets by default.
TEST_F(AttentionTest, OfManyQueries) {
  CheckAllTypes({"2,12", 96, 64, 24, 24}, "[64]", kMasked);
  CheckAllTypes({"4,12", 48, 130, 40, 40}, "[48,130]", kMasked);
}

}  // namespace
}  // namespace onnx_cudnn

// Rotary embeddings of queries and keys out of one product on the GPU.
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using RotaryGpuTest = KernelTest;

TEST_F(RotaryGpuTest, QueriesAndKeysOfOneProduct) {
  const Graph graph = GraphFromText(
      "g (float16[2,128,3072] w, float16[1,1,128,64] c, float16[1,1,128,64] s) => (y, z) "
      "<int64[1] zero = {0}, int64[1] half = {32}, int64[1] all = {64}, int64[1] last = {-1}, "
      "int64[1] one = {2048}, int64[1] two = {2560}, int64[1] axis = {2}, "
      "int64[4] heads = {2, 128, 32, 64}, int64[4] shared = {2, 128, 8, 64}> "
      "{ e = Slice(w, zero, one, axis) f = Reshape(e, heads) q = Transpose<perm = [0,2,1,3]>(f) "
      "g = Slice(w, one, two, axis) i = Reshape(g, shared) k = Transpose<perm = [0,2,1,3]>(i) "
      "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(h) "
      "r = Concat<axis = -1>(n, l) a = Mul(q, c) d = Mul(r, s) y = Add(a, d) "
      "l2 = Slice(k, zero, half, last) h2 = Slice(k, half, all, last) n2 = Neg(h2) "
      "r2 = Concat<axis = -1>(n2, l2) a2 = Mul(k, c) d2 = Mul(r2, s) z = Add(a2, d2) }");
  EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "Concat", target()), target()), 0);
}

// Of the first 32 channels and of all; neighbours.
TEST_F(RotaryGpuTest, PartsAndNeighbours) {
  const Graph part = GraphFromText(
      "g (float16[2,32,128,80] x, float16[1,1,128,32] c, float16[1,1,128,32] s) => (y) "
      "<int64[1] zero = {0}, int64[1] half = {16}, int64[1] turned = {32}, int64[1] all = {80}, "
      "int64[1] last = {-1}> { f = Slice(x, zero, turned, last) l = Slice(f, zero, half, last) "
      "h = Slice(f, half, turned, last) n = Neg(h) r = Concat<axis = -1>(n, l) a = Mul(f, c) "
      "d = Mul(r, s) e = Add(a, d) p = Slice(x, turned, all, last) "
      "y = Concat<axis = -1>(e, p) }");
  EXPECT_GT(CheckAll(part, OfAllNodes(part, "Concat", target()), target()), 0);
  const Graph neighbours = GraphFromText(
      "g (float16[2,32,128,64] x, float16[1,1,128,32] c, float16[1,1,128,32] s) => (y) "
      "<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] all = {64}, "
      "int64[1] last = {3}, int64[1] fourth = {4}, int64[4] given = {2, 32, 128, 64}> "
      "{ l = Slice(x, zero, all, last, two) h = Slice(x, one, all, last, two) a = Mul(l, c) "
      "d = Mul(h, s) e = Sub(a, d) i = Mul(h, c) f = Mul(l, s) j = Add(i, f) "
      "u = Unsqueeze(e, fourth) v = Unsqueeze(j, fourth) w = Concat<axis = -1>(u, v) "
      "y = Reshape(w, given) }");
  EXPECT_GT(CheckAll(neighbours, OfAllNodes(neighbours, "Concat", target()), target()), 0);
}

TEST_F(RotaryGpuTest, KeysAndValuesGoToCaches) {
  const Graph graph = GraphFromText(
      "g (float16[3,1,3072] w, float16[3,1,1,64] c, float16[3,1,1,64] s, "
      "float16[3,8,2048,64] keys, float16[3,8,2048,64] values) => (y, pk, pv) "
      "<int64[1] zero = {0}, int64[1] half = {32}, int64[1] all = {64}, int64[1] last = {-1}, "
      "int64[1] one = {2048}, int64[1] two = {2560}, int64[1] three = {3072}, "
      "int64[1] axis = {2}, int64[3] places = {0, 2047, 1000}, int64[4] heads = {3, 32, 1, 64}, "
      "int64[4] shared = {3, 8, 1, 64}> "
      "{ e = Slice(w, zero, one, axis) q = Reshape(e, heads) "
      "g = Slice(w, one, two, axis) k = Reshape(g, shared) "
      "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(h) "
      "r = Concat<axis = -1>(n, l) a = Mul(q, c) d = Mul(r, s) y = Add(a, d) "
      "l2 = Slice(k, zero, half, last) h2 = Slice(k, half, all, last) n2 = Neg(h2) "
      "r2 = Concat<axis = -1>(n2, l2) a2 = Mul(k, c) d2 = Mul(r2, s) z = Add(a2, d2) "
      "i = Slice(w, two, three, axis) v = Reshape(i, shared) "
      "pk = TensorScatter<axis = 2>(keys, z, places) "
      "pv = TensorScatter<axis = 2>(values, v, places) }");
  EXPECT_GT(CheckAll(graph, OfAllNodes(graph, "Concat", target()), target()), 0);
}

}  // namespace
}  // namespace onnx_cudnn

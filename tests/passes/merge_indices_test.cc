#include <gtest/gtest.h>

#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// Positions, and rows of a table, but not what clone-cheap may have copied.
TEST(MergeIndicesTest, MergesIndicesAlone) {
  ExpectRewrite(MergeIndices(), R"(
      g (int64[N] i, float[N] x) => (y, z, u, w) <float[3,2] t = {0, 1, 2, 3, 4, 5}, int64 one = {1}> {
        a = Add(i, one)
        b = Add(i, one)
        y = Gather(t, a)
        z = Gather(t, b)
        u = Relu(x)
        w = Relu(x)
      })",
                "g (i64[N] i, f32[N] x) => (f32[N,2] y, f32[N,2] z = y, f32[N] u, f32[N] w) "
                "{ a = Add(i, {1}) y = Gather({0, 1, 2, 3, 4, 5}, a) u = Relu(x) w = Relu(x) }");
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/import/defaults.h"

#include <gtest/gtest.h>

#include "runtime/graph/types.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

std::string SpectrumType(std::string_view attributes) {
  const Graph graph = GraphFromText(
      std::string("g (float[1,8,1] x) => (float y) <int64 step = {2}, int64 length = {4}> ") +
      "{ y = STFT" + std::string(attributes) + "(x, step, , length) }");
  return ToString(graph.outputs()[0].value->type());
}

TEST(DefaultsTest, StftIsOneSidedByDefault) {
  EXPECT_EQ(SpectrumType(""), "f32[1,3,3,2]");
  EXPECT_EQ(SpectrumType("<onesided = 0>"), "f32[1,3,4,2]");
}

}  // namespace
}  // namespace onnx_cudnn

// Opsets 1 to 5.
#include "tests/import/upgraded.h"

namespace onnx_cudnn {
namespace {

TEST(UpgradeFirstTest, DropsTheHintsOfTheFirstOpsets) {
  const std::string border = "(float[2] x) => (float[2] y)";
  ExpectNodes(1, border, "y = Relu<consumed_inputs = [0]>(x)", {"y = Relu(x)"});
  ExpectNodes(5, border, "y = Relu<consumed_inputs = [0]>(x)", {"y = Relu(x)"});
  ExpectNodes(1, "(bool[2] x) => (bool[2] y)", "y = Not(x)", {"y = Not(x)"});
  ExpectNodes(
      1, "(float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y)",
      "y = BatchNormalization<consumed_inputs = [0, 0, 0, 1, 1], is_test = 1>(x, s, b, m, v)",
      {"y = BatchNormalization(x, s, b, m, v)"});
  ExpectRefusal(6, border, "y = Relu<consumed_inputs = [0]>(x)", absl::StatusCode::kInvalidArgument,
                "the op has no attribute \"consumed_inputs\"");
}

TEST(UpgradeFirstTest, TakesTheFormsOfTheFirstOpsets) {
  const std::string border = "(float[2,3] x) => (float[?,?] y)";
  ExpectNodes(5, "(float[2] x) => (int32[2] y)", "y = Cast<to = \"INT32\">(x)",
              {"y = Cast<to = 6>(x)"});
  ExpectNodes(3, border, "y = Concat(x, x)", {"y = Concat<axis = 1>(x, x)"});
  ExpectNodes(1, border, "y = Pad<paddings = [0, 1, 0, 1], value = 2.0>(x)",
              {"y = Pad(x, {0, 1, 0, 1}, {2})"});
  ExpectNodes(4, border, "y = Reshape<shape = [3, -1]>(x)", {"y = Reshape(x, {3, -1})"});
  ExpectNodes(1, "(float[2] x) => (float[2] y)", "y = Selu(x)",
              {"y = Selu<alpha = 1.6732, gamma = 1.0507>(x)"});
  ExpectNodes(1, "(float[1,1,4] x) => (float[1,1,?] y)",
              "y = LpPool<kernel_shape = [2], p = 3.0>(x)",
              {"y = LpPool<kernel_shape = [2], p = 3>(x)"});
  ExpectNodes(1, "(float[1,1,4] x) => (float[1,1,1] y)", "y = GlobalLpPool<p = 1.0>(x)",
              {"y = GlobalLpPool<p = 1>(x)"});
  ExpectNodes(
      1, "(float[2,3] x) => (float[2,6] y)",
      "n = Constant<value = float {2}>() a = Constant<value = float {1}>() y = Tile(x, n, a)",
      {"y = Tile(x, {1, 2})"});
  ExpectNodes(1, "(float[4] x, float[2] n) => (float[?] y, float[?] z)", "y, z = Split(x, n)",
              {"cast = Cast<to = 7>(n)", "y, z = Split(x, cast)"});
}

TEST(UpgradeFirstTest, RefusesFormsOfTheFirstOpsetsThatHaveNoNewer) {
  const std::string border = "(float[2,3] x) => (float[?,?] y)";
  const auto unimplemented = absl::StatusCode::kUnimplemented;
  ExpectRefusal(5, border, "y = Cast<to = \"FLOTE\">(x)", absl::StatusCode::kInvalidArgument,
                "attribute \"to\" is \"FLOTE\", which is no type");
  ExpectRefusal(1, border, "y = GlobalLpPool<p = 1.5>(x)", unimplemented,
                "GlobalLpPool (opset 1) on f32: attribute \"p\" is 1.5");
  ExpectRefusal(1, border, "y = LpPool(x)", unimplemented,
                "LpPool (opset 1) on f32: attribute \"kernel_shape\" is missing");
  ExpectRefusal(4, border, "y = Reshape(x)", absl::StatusCode::kInvalidArgument,
                "attribute \"shape\" is missing");
  ExpectRefusal(1, "(float[2,3] x, float n, float a) => (float[?,?] y)", "y = Tile(x, n, a)",
                unimplemented, "Tile (opset 1) on f32: \"tiles\" and \"axis\" must be constants");
}

}  // namespace
}  // namespace onnx_cudnn

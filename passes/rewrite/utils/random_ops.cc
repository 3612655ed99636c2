#include "passes/rewrite/utils/random_ops.h"

#include "passes/rewrite/utils/is_op.h"

namespace onnx_cudnn {

bool IsRandom(const Node& node) {
  return IsOp(&node, {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike",
                      "RandomUniform", "RandomUniformLike"});
}

}  // namespace onnx_cudnn

// What Conv and ConvTranspose share.
#pragma once

#include "runtime/ops/conv_shape.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {

template <Reference kReference>
OpDef ConvolutionOp(decltype(OpDef::workspace) workspace, decltype(OpDef::cost) cost) {
  return {.check = CheckConvolution,
          .reference = Widened<kReference>,
          .workspace = workspace,
          .cost = cost,
          .traits = {.anchor = true, .has_window = true, .window_weight = 1}};
}

}  // namespace onnx_cudnn

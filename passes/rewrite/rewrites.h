// Every rewrite: its factory, with what it makes of what. One file a rewrite, named as its pass.
#pragma once

#include <memory>

#include "passes/pass.h"

namespace onnx_cudnn {

std::unique_ptr<Pass> CancelTransposes();  // Transpose(Transpose(x)) ⇒ x, or one Transpose
std::unique_ptr<Pass> DeadCode();          // Nodes whose outputs nobody uses ⇒ nothing
std::unique_ptr<Pass>
EliminateIdentity();  // Identity(x), inference Dropout(x), Cast to the same type … ⇒ x
std::unique_ptr<Pass> FoldBatchNorm();  // BatchNormalization(Conv(x, w, b)) ⇒ Conv(x, w', b')
std::unique_ptr<Pass>
FoldBias();  // Add(Conv(x, w), constant per channel) ⇒ Conv(x, w, b); Gemm likewise
std::unique_ptr<Pass>
FoldConstants();  // an op of constants ⇒ a constant; Shape of a static Value ⇒ a constant
std::unique_ptr<Pass> InlineConstantIf();  // If(constant) ⇒ the branch's Nodes
std::unique_ptr<Pass>
OwnOutputs();  // a graph output that is an input, a constant or an earlier output ⇒ its Identity

}  // namespace onnx_cudnn

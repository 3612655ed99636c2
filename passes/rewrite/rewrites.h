// Every rewrite: its factory, and what it replaces by what. One file per rewrite, named after the
// pass.
#pragma once

#include <memory>

#include "passes/pass.h"

namespace onnx_cudnn {

std::unique_ptr<Pass>
CancelReshapes();  // a chain of Reshape, Flatten, Squeeze, Unsqueeze ⇒ one Reshape, or x
std::unique_ptr<Pass>
CancelTransposes();  // Transpose(Transpose(x)), Transpose(Relu(Transpose(x))) ⇒ one or none
std::unique_ptr<Pass>
CloneCheap();  // a cheap Node that several convolutions read ⇒ a copy for each (for a GPU only)
std::unique_ptr<Pass> CommonSubexpressions();  // two Nodes of equal op, attributes and inputs ⇒ one
std::unique_ptr<Pass> DeadCode();              // Nodes whose outputs nobody uses ⇒ nothing
std::unique_ptr<Pass>
Decompose();  // an op that no Engine of the Target runs ⇒ the body of ONNX's function for it
std::unique_ptr<Pass>
EliminateIdentity();  // Identity(x), inference Dropout(x), Cast to the same type … ⇒ x
std::unique_ptr<Pass> FoldBatchNorm();  // BatchNormalization(Conv(x, w, b)) ⇒ Conv(x, w', b');
                                        // ConvTranspose, Gemm, MatMul likewise
std::unique_ptr<Pass> FoldBias();       // Add(Conv(x, w), constant per channel) ⇒ Conv(x, w, b);
                                        // ConvTranspose, Gemm, MatMul likewise
std::unique_ptr<Pass> FoldConstantChains();  // Mul(Mul(x, c), d) ⇒ Mul(x, c·d); Add likewise
std::unique_ptr<Pass>
FoldConstants();  // an op of constants ⇒ a constant; Shape of a static Value ⇒ a constant
std::unique_ptr<Pass>
FoldPad();  // Conv(Pad(x), w) ⇒ Conv(x, w) with pads; AveragePool, MaxPool likewise
std::unique_ptr<Pass> FoldScale();  // Mul(Conv(x, w), c), Conv(Mul(x, c), w), c one per channel ⇒
                                    // Conv(x, w'); ConvTranspose, Gemm, MatMul likewise
std::unique_ptr<Pass> FuseActivations();  // Mul(x, Sigmoid(x)) ⇒ Swish(x); Gelu, HardSwish likewise
std::unique_ptr<Pass>
FuseAttention();  // Softmax(scale · q·kᵀ + mask)·v ⇒ Attention(q, k, v, mask), if an Engine runs it
std::unique_ptr<Pass>
FuseLayerNorm();  // (x − mean) / sqrt(variance + epsilon) · c + d ⇒ LayerNormalization(x, c, d);
                  // x / sqrt(mean of x² + epsilon) · c ⇒ RMSNormalization(x, c)
std::unique_ptr<Pass> FuseProjections();  // x·Wq, x·Wk, x·Wv of an attention ⇒ Slices of x·[Wq Wk
                                          // Wv], if an Engine reads them in place
std::unique_ptr<Pass> GatherRows();  // Transpose(Reshape(x)) and other chains that move whole rows
                                     // ⇒ one Gather of rows (for a GPU only)
std::unique_ptr<Pass> InlineConstantIf();  // If(constant) ⇒ the branch's Nodes
std::unique_ptr<Pass> LowerAttention();  // Attention in a form that no Engine runs ⇒ one that one
                                         // runs: four dims, a mask that is added
std::unique_ptr<Pass>
LowerBatchNorm();  // BatchNormalization(x) ⇒ Add(Mul(x, s), t) (not for the CPU)
std::unique_ptr<Pass> LowerEinsum();  // Einsum(x, y) ⇒ MatMul or Mul between Transposes, Reshapes
                                      // and ReduceSums (not for the CPU)
std::unique_ptr<Pass> LowerPatchConv();  // Conv(x, w) that cuts x into patches ⇒ Gemm(patches, w)
                                         // (for a GPU only)
std::unique_ptr<Pass> LowerPrecisionBf16();  // Conv(x, w) ⇒ Cast(Conv(Cast(x), w')) in bf16, the
                                             // element-wise ops after it likewise
std::unique_ptr<Pass> LowerPrecisionFp16();  // the same in f16
std::unique_ptr<Pass> MergeIndices();        // as CommonSubexpressions, Nodes of indices alone
std::unique_ptr<Pass>
MergeSlices();  // Slice(Slice(x)) ⇒ one Slice, nested Concats ⇒ one, Concat(Split(x)) ⇒ x; beside
                // t = Concat(a, b) others also read: Concat(a, b, c) ⇒ Concat(t, c)
std::unique_ptr<Pass>
OwnOutputs();  // a graph output that is an input, a constant or an earlier output ⇒ its Identity
std::unique_ptr<Pass> PoolMeans();  // ReduceMean(x) over all spatial axes ⇒ GlobalAveragePool(x)
std::unique_ptr<Pass>
SimplifyArithmetic();  // x·1, x + 0, Neg(Neg(x)), Cast(Cast(x)), Clip(Relu(x)) … ⇒ x, or one Node
std::unique_ptr<Pass> SinkTransposes();  // Add(Transpose(MatMul(x, w)), Transpose(z)) ⇒
                                         // Transpose(Add(MatMul(x, w), z))
std::unique_ptr<Pass> SliceGathers();    // Gather(x, one constant index) ⇒ Slice(x), squeezed
std::unique_ptr<Pass> SplitPad();  // Conv(x, w) with uneven pads ⇒ Conv(Pad(x), w) with even ones
                                   // (for a GPU only)

}  // namespace onnx_cudnn

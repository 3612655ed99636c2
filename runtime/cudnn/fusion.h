// What cuDNN's graphs take of element-wise ops beside another operation.
#pragma once

#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// The dtypes of operands that cuDNN's fusions take from us.
inline constexpr DTypeSet kCudnnTypes = {DType::kF16, DType::kBF16, DType::kF32};

// Pattern::OneResult of convolutions and products. A graph that writes what is fused as well gets
// plans whose execution fails with an internal error (engines 39 and 51 of cuDNN 9.19, seen on an
// H200; engine 7 ran): nothing tells them apart before they run.
inline constexpr Rule kOneResult = {
    "cuDNN's plans that write a fused value as well may fail when they run, and this value has "
    "other readers",
    "none in cuDNN: small_batch_conv of ours may write both"};

// Why `node` cannot be an operation on `tensor`, whatever its operands' shapes; nullptr: it can.
const Rule* WhyNotPointwise(const Node& node, const FusedTensor& tensor);

// Why `step.node` cannot be an operation on `tensor` beside a convolution, a product or a
// normalization; nullptr: it can.
const Rule* MayFuse(const GrowthStep& step, const FusedTensor& tensor);

// Whether one of `readers`, element-wise Nodes of the Candidate `nodes`, reads a full operand from
// outside of it.
bool ReadsFullOperand(absl::Span<const Node* const> readers, absl::Span<const Node* const> nodes,
                      const FusedTensor& tensor);

// How many images, operands with an element per pixel, `nodes` read from outside of them.
int CountImages(absl::Span<const Node* const> nodes, const FusedTensor& tensor);

// Whether `node`, element-wise, computes zero where every image that it reads is zero: its other
// operands are constants, and say so.
bool MapsZeroToZero(const Node& node, const FusedTensor& tensor);

// Whether padding channels, zero in every full operand, are zero in what `node` computes, too.
bool KeepsZeroChannels(const Node& node, const FusedTensor& tensor);

}  // namespace onnx_cudnn

// Which element-wise ops cuDNN graphs can fuse with another operation.
#pragma once

#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// The dtypes of operands in the cuDNN fusions that we propose.
inline constexpr DTypeSet kCudnnTypes = {DType::kF16, DType::kBF16, DType::kF32};

// Pattern::OneResult of convolutions and products. A graph that also writes a fused intermediate
// gets plans whose execution fails with an internal error (engines 39 and 51 of cuDNN 9.19 on an
// H200; engine 7 ran). Nothing identifies those plans before they run.
inline constexpr Rule kOneResult = {
    "cuDNN's plans that write a fused value as well may fail when they run, and this value has "
    "other readers",
    "none in cuDNN: small_batch_conv of ours may write both"};

// Why `node` cannot be an operation on `tensor`, whatever the shapes of its operands; nullptr: it
// can.
const Rule* WhyNotPointwise(const Node& node, const FusedTensor& tensor);

// Why `step.node` cannot be an operation on `tensor` in a graph with a convolution, a product or a
// normalization; nullptr: it can.
const Rule* MayFuse(const GrowthStep& step, const FusedTensor& tensor);

// Whether one of `readers`, element-wise Nodes of the Candidate `nodes`, reads a full operand from
// outside the Candidate.
bool ReadsFullOperand(absl::Span<const Node* const> readers, absl::Span<const Node* const> nodes,
                      const FusedTensor& tensor);

// How many images (operands with one element per pixel) `nodes` read from outside.
int CountImages(absl::Span<const Node* const> nodes, const FusedTensor& tensor);

// Whether `node`, element-wise, returns zero where every image that it reads is zero. Its other
// operands must be constants; their values decide.
bool MapsZeroToZero(const Node& node, const FusedTensor& tensor);

// Whether padding channels that are zero in every full operand are also zero in the result of
// `node`.
bool KeepsZeroChannels(const Node& node, const FusedTensor& tensor);

}  // namespace onnx_cudnn

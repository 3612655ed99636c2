// The Node that a Candidate is built around, as an operation of cuDNN's.
#pragma once

#include <string_view>

#include "runtime/cudnn/cuda/graph_builder.h"

namespace onnx_cudnn {

struct Anchor {
  // How cuDNN sees `operand`, which the anchor reads: so do the Nodes that compute it.
  CudnnTensorView (*before)(const Node& anchor, const Value& operand, const GraphBuilder& builder);
  // How it sees what the anchor writes: so do the Nodes behind.
  CudnnTensorView (*behind)(const Node& anchor, const GraphBuilder& builder);
  // Adds the anchor's operations. What computes its operands was added.
  absl::Status (*lower)(const Node& anchor, GraphBuilder& builder);
};

Anchor ConvolutionAnchor();  // Conv and ConvTranspose
Anchor ProductAnchor();      // MatMul and Gemm
Anchor PoolingAnchor();
Anchor NormalizationAnchor();  // LayerNormalization and RMSNormalization
Anchor ReductionAnchor();

}  // namespace onnx_cudnn

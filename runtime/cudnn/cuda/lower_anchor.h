// The anchor Node of a Candidate as a cuDNN operation.
#pragma once

#include <string_view>

#include "runtime/cudnn/cuda/graph_builder.h"

namespace onnx_cudnn {

struct Anchor {
  // The view of `operand`, which the anchor reads; the Nodes that compute it use the same view.
  CudnnTensorView (*before)(const Node& anchor, const Value& operand, const GraphBuilder& builder);
  // The view of the anchor's output; the Nodes after it use the same view.
  CudnnTensorView (*behind)(const Node& anchor, const GraphBuilder& builder);
  // Adds the operations of the anchor. Those that compute its operands have been added.
  absl::Status (*lower)(const Node& anchor, GraphBuilder& builder);
};

Anchor ConvolutionAnchor();  // Conv and ConvTranspose
Anchor ProductAnchor();      // MatMul and Gemm
Anchor PoolingAnchor();
Anchor NormalizationAnchor();  // LayerNormalization and RMSNormalization
Anchor ReductionAnchor();

// Adds Attention with the Transposes around it.
absl::Status LowerAttention(const Node& attention, GraphBuilder& builder);

}  // namespace onnx_cudnn

#pragma once

#include <string_view>

#include "passes/rewrite/utils/float_constants.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The channels of a Conv, ConvTranspose, Gemm or MatMul with a constant weight (input 1), as needed
// to fold factors and addends of its input or output into it.
struct LinearOp {
  std::string_view why_not;  // not empty: it is not one of these ops, and nothing below is set
  // The channel axes of input 0 and of the output, which both have this rank.
  int rank = 0, in_axis = 0, out_axis = 0;
  int64_t in_channels = 0, out_channels = 0;
  ChannelAxis weight_in, weight_out;  // the channels of the weight
};

// Whether the Node is one of these ops.
bool IsLinear(const Node* node);
LinearOp DescribeLinear(const Node& node);

// Whether broadcasting `dims` to a tensor of `rank` by numpy's rule varies along no axis but
// `axis`.
bool VariesOnlyAlong(const Dims& dims, int rank, int axis);
// Whether `constant`, broadcast to a tensor of `rank` with `channels` along `axis`, is one number
// per channel or one for all.
bool IsPerChannel(const HostTensor& constant, int rank, int axis, int64_t channels);
// The numbers of that constant, one per channel.
std::vector<double> PerChannel(const HostTensor& constant, int64_t channels);

// The bias of a linear op, one number per channel; zeros if there is none; nullopt: it is not a
// constant of one number per channel, or is scaled (beta).
std::optional<std::vector<double>> BiasOf(const Node& node, const LinearOp& op);

// Gives a linear op a bias of one number per channel. A MatMul (of rank 2) becomes a Gemm.
//   returns  the output that replaces that of the op; its uses are not redirected yet
Value& SetBias(Graph& graph, Node& node, Value& bias);

}  // namespace onnx_cudnn

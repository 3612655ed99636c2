#pragma once

#include <string_view>

#include "passes/rewrite/utils/float_constants.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The channels of a Conv, ConvTranspose, Gemm or MatMul whose weight, input 1, is a constant: what
// it takes to fold factors and addends of its input or output into it.
struct LinearOp {
  std::string_view why_not;  // not empty: it is no such op, and nothing below is set
  // The axes of input 0 and of the output that channels lie along; both have this rank.
  int rank = 0, in_axis = 0, out_axis = 0;
  int64_t in_channels = 0, out_channels = 0;
  ChannelAxis weight_in, weight_out;  // where the weight has them
};

// Whether the Node is of these ops.
bool IsLinear(const Node* node);
LinearOp DescribeLinear(const Node& node);

// Whether numpy's rule spreads `dims` over a tensor of `rank` without a difference along any axis
// but `axis`.
bool VariesOnlyAlong(const Dims& dims, int rank, int axis);
// Whether `constant`, broadcast to a tensor of `rank` with `channels` along `axis`, is one number
// for each channel, or for all.
bool IsPerChannel(const HostTensor& constant, int rank, int axis, int64_t channels);
// The numbers of such a constant, one a channel.
std::vector<double> PerChannel(const HostTensor& constant, int64_t channels);

// The bias of a linear op as one number a channel, zeros without one; nullopt: it is not a constant
// of one number a channel, or is scaled (beta).
std::optional<std::vector<double>> BiasOf(const Node& node, const LinearOp& op);

// Gives a linear op a bias of one number a channel. A MatMul, of rank 2, becomes a Gemm.
//   returns  the output that takes the place of the op's; its uses are not replaced yet
Value& SetBias(Graph& graph, Node& node, Value& bias);

}  // namespace onnx_cudnn

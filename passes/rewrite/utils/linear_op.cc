#include "passes/rewrite/utils/linear_op.h"

namespace onnx_cudnn {
namespace {

LinearOp No(std::string_view why) { return {.why_not = why}; }

LinearOp DescribeConv(const Node& node, const Dims& w) {
  if (w.size() < 3) return No("the weight has no spatial dims");
  const int64_t groups = node.attrs().Int("group", 1);
  const bool transposed = node.op() == "ConvTranspose";
  if (groups < 1 || w[0] % groups != 0) return No("the groups do not divide the weight");
  const ChannelAxis within{.axis = 1, .groups = groups}, across{.axis = 0};
  return {.rank = static_cast<int>(w.size()),
          .in_axis = 1,
          .out_axis = 1,
          .in_channels = transposed ? w[0] : w[1] * groups,
          .out_channels = transposed ? w[1] * groups : w[0],
          .weight_in = transposed ? across : within,
          .weight_out = transposed ? within : across};
}

LinearOp DescribeProduct(const Node& node, const Dims& w) {
  const Type& x = node.input(0).type();
  if (w.size() != 2) return No("the weight is not of rank 2");
  if (!x.ranked || x.dims.size() < 2) return No("input 0 is not of rank 2 or more");
  const int rank = static_cast<int>(x.dims.size());
  const bool transposes_x = node.attrs().Int("transA", 0) != 0;
  const int out = node.attrs().Int("transB", 0) != 0 ? 0 : 1;
  return {.rank = rank,
          .in_axis = transposes_x ? rank - 2 : rank - 1,
          .out_axis = rank - 1,
          .in_channels = w[1 - out],
          .out_channels = w[out],
          .weight_in = {.axis = 1 - out},
          .weight_out = {.axis = out}};
}

}  // namespace

bool IsLinear(const Node* node) {
  if (node == nullptr || !node->domain().empty()) return false;
  const std::string& op = node->op();
  return op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
}

LinearOp DescribeLinear(const Node& node) {
  if (!node.has_input(1) || !node.input(1).is_constant()) return No("the weight is not a constant");
  const HostTensor& w = node.input(1).constant();
  if (!kFloatTypes.Has(w.dtype())) return No("the weight is not a float tensor");
  const bool is_conv = node.op() == "Conv" || node.op() == "ConvTranspose";
  return is_conv ? DescribeConv(node, w.dims()) : DescribeProduct(node, w.dims());
}

bool VariesOnlyAlong(const Dims& dims, int rank, int axis) {
  const int missing = rank - static_cast<int>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<int>(i) + missing != axis && dims[i] != 1) return false;
  }
  return missing >= 0;
}

bool IsPerChannel(const HostTensor& constant, int rank, int axis, int64_t channels) {
  return kFloatTypes.Has(constant.dtype()) && VariesOnlyAlong(constant.dims(), rank, axis) &&
         (constant.elements() == 1 || constant.elements() == channels);
}

std::vector<double> PerChannel(const HostTensor& constant, int64_t channels) {
  std::vector<double> values = ToDoubles(constant);
  if (values.size() == 1) values.assign(channels, values[0]);
  return values;
}

std::optional<std::vector<double>> BiasOf(const Node& node, const LinearOp& op) {
  if (!node.has_input(2)) return std::vector<double>(op.out_channels, 0);
  if (!node.input(2).is_constant() || node.attrs().Float("beta", 1) != 1) return std::nullopt;
  const HostTensor& bias = node.input(2).constant();
  const int rank = static_cast<int>(bias.dims().size());
  if (!IsPerChannel(bias, rank, rank - 1, op.out_channels)) return std::nullopt;
  return PerChannel(bias, op.out_channels);
}

Value& SetBias(Graph& graph, Node& node, Value& bias) {
  if (node.op() != "MatMul") {
    graph.SetInputs(node, {&node.input(0), &node.input(1), &bias});
    graph.RemoveAttr(node, "beta");
    return node.output(0);
  }
  Node& gemm = graph.AddNode({.op = "Gemm",
                              .inputs = {&node.input(0), &node.input(1), &bias},
                              .outputs = {node.output(0).name()},
                              .name = node.name()});
  graph.SetType(gemm.output(0), node.output(0).type());
  return gemm.output(0);
}

}  // namespace onnx_cudnn

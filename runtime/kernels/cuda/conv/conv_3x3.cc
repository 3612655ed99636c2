#include "runtime/kernels/cuda/conv/conv_3x3.h"

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/conv/register_operand.h"

namespace onnx_cudnn {
namespace {

// Maps [images, height, 56, 64], channels-last, in boxes of `rows` rows.
TensorMap MapRows(const KernelOperand& operand, int rows) {
  const Dims dims = operand.dims();
  const uint64_t pixel = kConv3x3Channels * operand.element_bytes(), row = kConv3x3Width * pixel;
  const uint64_t images = dims[0], height = dims[2];
  const bool is_half = operand.dtype() == DType::kF16;
  return {.element = is_half ? TensorMap::Element::kF16 : TensorMap::Element::kBF16,
          .rank = 4,
          .dims = {kConv3x3Channels, kConv3x3Width, height, images},
          .strides = {pixel, row, row * height},
          .box = {kConv3x3Channels, kConv3x3Pitch, static_cast<uint32_t>(rows), 1},
          .swizzles_128 = true};
}

Derived Weights(int position) {
  return RegisterOperand(position, kConv3x3Steps, "conv_3x3", [](int step, int k) -> int64_t {
    constexpr int kStepsOfATap = kConv3x3Steps / kConv3x3Taps, kDepth = 16;
    const int channel = step % kStepsOfATap * kDepth + k;
    return channel * kConv3x3Taps + step / kStepsOfATap;
  });
}

// The Nodes: Conv, then an optional Add of a residual, then an optional Relu.
struct FusedConv {
  const Node* conv = nullptr;
  const Value* residual = nullptr;
  bool has_relu = false;
};

FusedConv FusedConvOf(const std::vector<const Node*>& nodes) {
  FusedConv fused;
  for (const Node* node : nodes) {
    if (node->op() == "Conv") fused.conv = node;
    if (node->op() == "Relu") fused.has_relu = true;
    if (node->op() != "Add") continue;
    const bool is_first = &node->input(0) == &fused.conv->output(0);
    fused.residual = &node->input(is_first ? 1 : 0);
  }
  return fused;
}

}  // namespace

absl::StatusOr<KernelCode> CompileConv3x3(const KernelRequest& request) {
  const DeviceInfo& info = request.target.info;
  Operands operands(request);
  const FusedConv fused = FusedConvOf(request.unit.nodes);
  const KernelOperand x = operands.Of(fused.conv->input(0));
  const KernelOperand y = operands.Of(*request.unit.boundary.outputs[0]);
  if (y.value->elements() == 0) return KernelCode();
  const Dims dims = y.dims();
  Conv3x3Parameters parameters = {};
  parameters.image_tiles = static_cast<int>((dims[2] + kConv3x3Rows - 1) / kConv3x3Rows);
  parameters.tiles = static_cast<int>(dims[0]) * parameters.image_tiles;
  KernelCode code;
  const Conv3x3Form form = {y.dtype(), fused.residual != nullptr, fused.has_relu};
  code.calls.push_back(Conv3x3Call(form, parameters, info.multiprocessors));
  KernelCall& call = code.calls.back();
  call.next_uses_pdl_at = offsetof(Conv3x3Parameters, next_uses_pdl);
  const auto map = [&](size_t at, const KernelOperand& operand, int rows) {
    call.maps.push_back({at, operand.slot, MapRows(operand, rows)});
  };
  constexpr int kSecondHalfRows = kConv3x3Rows - kConv3x3FirstHalfRows;
  map(offsetof(Conv3x3Parameters, image), x, kConv3x3Rows + 2);
  if (fused.residual == nullptr) {
    map(offsetof(Conv3x3Parameters, result), y, kConv3x3Rows);
  } else {
    const KernelOperand residual = operands.Of(*fused.residual);
    map(offsetof(Conv3x3Parameters, residual), residual, kConv3x3FirstHalfRows);
    map(offsetof(Conv3x3Parameters, residual) + sizeof(TensorMapBytes), residual, kSecondHalfRows);
    map(offsetof(Conv3x3Parameters, result), y, kConv3x3FirstHalfRows);
    map(offsetof(Conv3x3Parameters, result) + sizeof(TensorMapBytes), y, kSecondHalfRows);
  }
  const Node& conv = *fused.conv;
  const int weight = operands.PositionOf(conv.input(1));
  const int bias = conv.has_input(2) ? operands.PositionOf(conv.input(2)) : -1;
  call.Bind(offsetof(Conv3x3Parameters, weights), operands.Constant(Weights(weight)));
  call.Bind(offsetof(Conv3x3Parameters, bias), operands.Constant(FloatBias(bias, weight)));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

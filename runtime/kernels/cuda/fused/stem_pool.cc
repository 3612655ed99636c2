#include "runtime/kernels/cuda/fused/stem_pool.h"

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/conv/register_operand.h"
#include "runtime/plan/interleaved.h"

namespace onnx_cudnn {
namespace {

constexpr int kPooledColumns = 56;
constexpr int kRowsOfABox = 4;  // of the image

TensorMap::Element ElementOf(DType dtype) {
  if (dtype == DType::kF32) return TensorMap::Element::kF32;
  return dtype == DType::kF16 ? TensorMap::Element::kF16 : TensorMap::Element::kBF16;
}

// Maps x[images, 3, height, 224] as planes of rows.
TensorMap MapImage(const KernelOperand& x) {
  const Dims dims = x.dims();
  const uint64_t row = kStemWidth * x.element_bytes(), height = dims[2];
  return {.element = ElementOf(x.dtype()),
          .rank = 3,
          .dims = {kStemWidth, height, static_cast<uint64_t>(dims[0] * kStemChannels)},
          .strides = {row, row * height},
          .box = {kStemWidth, kRowsOfABox, kStemChannels}};
}

// Maps y[images, 64, height / 4, 56], channels innermost, as pixels; a box has 128 bytes of each.
TensorMap MapPooled(const KernelOperand& y) {
  const uint64_t pixels = y.value->elements() / kStemFilters;
  const auto channels = static_cast<uint32_t>(128 / y.element_bytes());
  const auto pitch = static_cast<uint64_t>(PixelPitch(y.format, y.dims()).value_or(kStemFilters));
  return {.element = ElementOf(y.dtype()),
          .rank = 2,
          .dims = {kStemFilters, pixels},
          .strides = {pitch * y.element_bytes()},
          .box = {channels, kPooledColumns},
          .swizzles_128 = true,
          .promotes_256 = false};
}

// The index of a tap in its filter; -1: a zero of the product.
int64_t IndexOf(const StemTap& tap) {
  constexpr int kTaps = kStemKernel * kStemKernel;
  return tap.c < 0 ? -1 : tap.c * kTaps + tap.r * kStemKernel + tap.s;
}

Derived Weights(DType compute, int position) {
  if (compute == DType::kF32) {
    return Tf32RegisterOperand(position, kStemTf32Steps, "stem_pool tf32",
                               [](int step, int k) { return IndexOf(StemTf32TapOf(step, k)); });
  }
  return RegisterOperand(position, kStemSteps, "stem_pool",
                         [](int step, int k) { return IndexOf(StemTapOf(step, k)); });
}

// The tap in row `odd` (0 or 1) of row pair `pair`, with columns counted from the window's left
// border; none if that is outside the window.
StemTap TapAt(int pair, int odd, int column, int channel) {
  const StemTap tap = {2 * pair + odd - 1, column - 1, channel};
  const bool inside = tap.r >= 0 && tap.r < kStemKernel && tap.s >= 0 && tap.s < kStemKernel;
  return inside ? tap : StemTap();
}

}  // namespace

StemTap StemTapOf(int step, int k) {
  const int pair = (step + 1) / 3, plane_step = step - (pair == 0 ? 0 : 3 * pair - 1);
  const int position = k / 8, e = k % 8;
  if (plane_step < 2) {  // plane A
    const int column = 2 * (2 * plane_step + position) + e % 2;
    return e < 6 ? TapAt(pair, 1, column, e / 2) : TapAt(pair, 0, column, 2);
  }
  const int column = 2 * (2 * position + e / 4) + e % 2;
  return TapAt(pair, 0, column, e / 2 % 2);  // plane B
}

StemTap StemTf32TapOf(int step, int k) {
  const int pair = (step + 2) / 6, plane_step = step - (pair == 0 ? 0 : 6 * pair - 2);
  const int plane = plane_step / 2, position = plane_step % 2 * 2 + k / 4, e = k % 4;
  const int column = 2 * position + e % 2;
  if (plane == 1) return TapAt(pair, e < 2 ? 1 : 0, column, 2);
  return TapAt(pair, plane == 0 ? 1 : 0, column, e / 2);
}

absl::StatusOr<KernelCode> CompileStemPool(const KernelRequest& request) {
  const DeviceInfo& info = request.target.info;
  Operands operands(request);
  const Boundary& boundary = request.unit.boundary;
  const Node* conv = nullptr;
  for (const Node* node : request.unit.nodes) {
    if (node->op() == "Conv") conv = node;
  }
  const KernelOperand x = operands.Of(*boundary.inputs[0]);
  const KernelOperand y = operands.Of(*boundary.outputs[0]);
  if (y.value->elements() == 0) return KernelCode();
  if (y.dtype() == DType::kF32 && !request.target.numerics.tf32) {
    return absl::UnimplementedError("its products of f32 are tf32, which is not allowed");
  }
  const Dims dims = y.dims();
  StemPoolParameters parameters = {};
  parameters.image_rows = static_cast<int>(dims[2]);
  parameters.rows = static_cast<int>(dims[0] * dims[2]);
  const int weight = operands.PositionOf(conv->input(1));
  const int bias = conv->has_input(2) ? operands.PositionOf(conv->input(2)) : -1;
  KernelCode code;
  code.calls.push_back(StemPoolCall(y.dtype(), x.dtype(), parameters, info.multiprocessors));
  KernelCall& call = code.calls.back();
  call.next_uses_pdl_at = offsetof(StemPoolParameters, next_uses_pdl);
  call.maps = {{offsetof(StemPoolParameters, image), x.slot, MapImage(x)},
               {offsetof(StemPoolParameters, pooled), y.slot, MapPooled(y)}};
  call.Bind(offsetof(StemPoolParameters, weights), operands.Constant(Weights(y.dtype(), weight)));
  call.Bind(offsetof(StemPoolParameters, bias), operands.Constant(FloatBias(bias, weight)));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

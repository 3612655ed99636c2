// Compiles attention in tiles of keys, see ../../attention/flash_attention.cc.
#include "runtime/kernels/cuda/attention/flash_attention.h"

#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/attention/flash_attention.h"
#include "runtime/kernels/cuda/common/operands.h"

namespace onnx_cudnn {
namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr int kElementBytes = 2;

// Boxes of 64 channels and `rows` rows of one head.
TensorMap MapOf(const StridedView& view, DType dtype, int rows) {
  TensorMap map{
      .element = dtype == DType::kF16 ? TensorMap::Element::kF16 : TensorMap::Element::kBF16,
      .rank = 4,
      .box = {kFlashChannels, static_cast<uint32_t>(rows), 1, 1},
      .swizzles_128 = true};
  for (int i = 0; i < 4; ++i) {
    map.dims[i] = view.dims[3 - i];
    if (i > 0) map.strides[i - 1] = view.strides[3 - i] * kElementBytes;
  }
  return map;
}

// Reads the mask's strides; returns how it reaches the scores.
FlashMask ReadMask(const FlashOperands& operands, const KernelOperand& mask, FlashParameters& p) {
  const Dims scores = {operands.y_dims[0], operands.y_dims[1], operands.y_dims[2],
                       operands.k.dims[2]};
  const Strides strides = BroadcastStrides(mask, scores);
  p.mask_batch = strides.strides[0];
  p.mask_head = strides.strides[1];
  p.mask_query = strides.strides[2];
  p.mask_key = strides.strides[3];
  p.mask_is_f32 = mask.dtype() == DType::kF32;
  const bool is_row = p.mask_query == 0 || scores[2] == 1;
  return is_row ? FlashMask::kRow : FlashMask::kFull;
}

}  // namespace

absl::StatusOr<KernelCode> CompileFlashAttention(const KernelRequest& request) {
  const FlashOperands found = ReadFlashOperands(request.unit.nodes);
  int groups = FlashGroups(found, request.target.info.multiprocessors)[0];
  const bool is_number = request.variant.empty() || absl::SimpleAtoi(request.variant, &groups);
  if (!is_number || groups < 1 || groups > kFlashMostGroups) {
    return absl::InternalError(absl::StrCat("a variant '", request.variant, "'"));
  }
  const DType dtype = found.y->dtype();
  const int64_t full_boxes = CeilDiv(found.most_channels(), int64_t{kFlashChannels});
  const int boxes = full_boxes == 3 ? 4 : static_cast<int>(full_boxes);
  const Dims& y = found.y_dims;
  FlashParameters p{};
  p.scale = static_cast<float>(found.scale * kLog2E);
  p.queries = static_cast<int>(y[2]);
  p.keys = static_cast<int>(found.k.dims[2]);
  p.columns = static_cast<int>(y[3]);
  p.shared_by = static_cast<int>(y[1] / found.k.dims[1]);
  p.stages = found.k.dims[2] > FlashKeys(boxes) ? kFlashMostStages : 1;
  p.is_causal = found.is_causal;
  p.y_batch = found.y_strides[0];
  p.y_head = found.y_strides[1];
  p.y_row = found.y_strides[2];
  Operands operands(request);
  FlashForm form{.dtype = dtype,
                 .boxes = boxes,
                 .mask = FlashMask::kNone,
                 .groups = groups,
                 .tiles = static_cast<int>(CeilDiv(y[2], int64_t{groups} * kFlashQueries)),
                 .heads = static_cast<int>(y[1]),
                 .batch = static_cast<int>(y[0])};
  if (found.mask != nullptr) form.mask = ReadMask(found, operands.Of(*found.mask), p);
  KernelCall call = FlashAttentionCall(form, p);
  call.next_uses_pdl_at = offsetof(FlashParameters, next_uses_pdl);
  call.Bind(offsetof(FlashParameters, y), operands.Of(*found.y).slot);
  if (found.mask != nullptr) {
    call.Bind(offsetof(FlashParameters, mask), operands.Of(*found.mask).slot);
  }
  const auto add_map = [&](size_t at, const StridedView& view, int rows) {
    Slot slot = operands.Of(*view.source).slot;
    slot.offset += view.offset * kElementBytes;
    call.maps.push_back({at, slot, MapOf(view, dtype, rows)});
  };
  add_map(offsetof(FlashParameters, q), found.q, kFlashQueries);
  add_map(offsetof(FlashParameters, k), found.k, FlashKeys(boxes));
  add_map(offsetof(FlashParameters, v), found.v, FlashKeys(boxes));
  return OneCall(std::move(call), operands);
}

}  // namespace onnx_cudnn

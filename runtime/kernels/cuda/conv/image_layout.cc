#include "runtime/kernels/cuda/conv/image_layout.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kChannelMultiples[] = {1, 4, 8};
constexpr int64_t kMostExtent = int64_t{1} << 30;

// Two outer dims, then up to three; further dims are dense in either layout.
ImageLayout ExtentsOf(absl::Span<const int64_t> dims) {
  ImageLayout layout{.images = dims[0], .channels = dims[1], .lanes = dims[1]};
  const absl::Span<const int64_t> spatial = dims.subspan(2);
  if (spatial.size() > 3) {
    layout.dims[2] = ElementsOf(spatial);
    return layout;
  }
  std::copy(spatial.begin(), spatial.end(), layout.dims + 3 - spatial.size());
  return layout;
}

}  // namespace

absl::StatusOr<ImageLayout> ImageLayoutOf(const KernelOperand& operand) {
  const Dims dims = operand.dims();
  ImageLayout layout = ExtentsOf(dims);
  const bool row_major = operand.format == Format::RowMajor(dims);
  // One channel is the same in both layouts; many channels of one pixel are vectors only in the
  // other.
  if (row_major && (dims.size() < 3 || dims[1] == 1)) return layout;
  for (const int64_t multiple : kChannelMultiples) {
    if (dims.size() < 3 || operand.format != Format::ChannelsLast(dims, multiple)) continue;
    layout.channels_last = true;
    layout.lanes = (dims[1] + multiple - 1) / multiple * multiple;
    return layout;
  }
  if (row_major) return layout;
  return absl::UnimplementedError(absl::StrCat(operand.value->name(), " lies as (",
                                               operand.format.ToString(),
                                               "), neither row-major nor channels-last"));
}

absl::Status CheckWindowFits(const Window& window) {
  for (const WindowAxis& axis : window.axes) {
    const int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    const int64_t extent = axis.in + axis.pad_begin + axis.pad_end;
    if (std::max({span, extent, axis.out * axis.stride}) < kMostExtent) continue;
    return absl::UnimplementedError(
        absl::StrCat("a window of ", span, " over ", extent, " positions needs 64-bit indices"));
  }
  return absl::OkStatus();
}

ImageAxis ImageAxisOf(const WindowAxis& axis) {
  return {.in = static_cast<int>(axis.in),
          .out = static_cast<int>(axis.out),
          .kernel = static_cast<int>(axis.kernel),
          .stride = static_cast<int>(axis.stride),
          .dilation = static_cast<int>(axis.dilation),
          .pad = static_cast<int>(axis.pad_begin)};
}

}  // namespace onnx_cudnn

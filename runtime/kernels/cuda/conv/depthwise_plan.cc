#include "runtime/kernels/cuda/conv/depthwise_plan.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

Derived TapsFirst(int constant, int64_t taps, int64_t lanes) {
  return {.from = {constant},
          .recipe = absl::StrCat("depthwise taps first, lanes ", lanes),
          .to = Format::RowMajor({taps, lanes}),
          .make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            const HostTensor& w = sources[0];
            HostTensor to = HostTensor::Allocate(w.dtype(), {taps, lanes});
            const int64_t bytes = BitsOf(w.dtype()) / 8, filters = w.dims()[0];
            std::memset(to.mutable_raw(), 0, static_cast<size_t>(to.bytes()));
            for (int64_t f = 0; f < filters; ++f) {
              for (int64_t tap = 0; tap < taps; ++tap) {
                std::memcpy(static_cast<char*>(to.mutable_raw()) + (tap * lanes + f) * bytes,
                            static_cast<const char*>(w.raw()) + (f * taps + tap) * bytes,
                            static_cast<size_t>(bytes));
              }
            }
            return to;
          }};
}

DepthwiseParameters DepthwiseParametersOf(const ConvShape& shape, const ImageLayout& x,
                                          const ImageLayout& y, int lanes, int columns) {
  DepthwiseParameters p{};
  p.d = ImageAxisOf(shape.window.d());
  p.h = ImageAxisOf(shape.window.h());
  p.w = ImageAxisOf(shape.window.w());
  p.x_image = x.image_stride(), p.x_channel = x.channel_stride();
  p.x_d = x.depth_stride(), p.x_h = x.row_stride(), p.x_w = x.column_stride();
  p.y_image = y.image_stride(), p.y_channel = y.channel_stride();
  p.y_d = y.depth_stride(), p.y_h = y.row_stride(), p.y_w = y.column_stride();
  p.filters = static_cast<int>(y.channels);
  p.held = static_cast<int>(y.lanes);
  p.along_columns = !x.channels_last;
  p.filters_per_channel = FastDivide<uint32_t>(shape.filters);
  const auto parts = [](int64_t n, int64_t each) {
    return FastDivide<uint32_t>((n + each - 1) / each);
  };
  p.lanes = parts(p.along_columns ? p.w.out : p.held, lanes);
  p.columns = p.along_columns ? FastDivide<uint32_t>(1) : parts(p.w.out, columns);
  p.rows = FastDivide<uint32_t>(p.h.out);
  p.depths = FastDivide<uint32_t>(p.d.out);
  p.planes = FastDivide<uint32_t>(p.along_columns ? p.filters : 1);
  return p;
}

int64_t ItemsOf(const DepthwiseParameters& p) {
  return static_cast<int64_t>(p.lanes.divisor) * p.columns.divisor * p.rows.divisor *
         p.depths.divisor * p.planes.divisor;
}

}  // namespace onnx_cudnn

// Images for kernels with windows: [N, C, spatial…], dense, row-major or channels-last. Standard
// library only: .cu files include it.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

struct ImageLayout {
  int64_t images = 0, channels = 0;
  int64_t lanes = 0;            // channels including padding
  int64_t dims[3] = {1, 1, 1};  // depth, height, width; missing leading ones are 1
  bool channels_last = false;

  int64_t pixels() const { return dims[0] * dims[1] * dims[2]; }
  // Strides in elements.
  int64_t image_stride() const { return pixels() * lanes; }
  int64_t channel_stride() const { return channels_last ? 1 : pixels(); }
  int64_t column_stride() const { return channels_last ? lanes : 1; }
  int64_t row_stride() const { return dims[2] * column_stride(); }
  int64_t depth_stride() const { return dims[1] * row_stride(); }
};

// Position k of the window for output o is at o * stride + k * dilation - pad of the input.
struct ImageAxis {
  int in, out, kernel, stride, dilation, pad;
};

}  // namespace onnx_cudnn

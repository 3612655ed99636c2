// Convolutions of ResNets at large batches, as conv_gemm supports them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// relu(Conv(x)), relu(Conv(x) + residual), or relu(Conv(x) + Conv(z)) if other_channels is set.
struct ConvGemmCase {
  int64_t channels, filters, side;  // of x and the result, which is side × side
  int64_t kernel = 1;               // of the window over x: kernel × kernel
  int64_t stride = 1;               // over x, whose sides are multiplied by it
  int64_t other_channels = 0;       // of z
  int64_t other_stride = 1;         // over z
  bool has_residual = false;
  bool is_f32 = false;  // computed in TF32; otherwise f16

  // A graph whose weights are named w….
  std::string Text(int64_t batch) const;
  // "64+64->256@56", "3x3/2 64->128@28", "64->256@56 residual tf32"
  std::string Name() const;
  int64_t flops(int64_t batch) const;
  int64_t bytes(int64_t batch) const;  // that must be read and written; excludes skipped pixels
  // Lower bound of the time on the device, in µs.
  double FloorUs(int64_t batch, const DeviceInfo& info) const;
};

// The last convolution of a block in each of the four stages of ResNet-50, with the residual and
// with the downsample branch.
std::vector<ConvGemmCase> ResNet50Conv1x1Cases(bool is_f32 = false);

// The windows of 3 × 3 of ResNet-18 and ResNet-50 with 128 filters and more: plain, with a
// residual, strided, and with the downsample branch.
std::vector<ConvGemmCase> ResNetConv3x3Cases(bool is_f32 = false);

}  // namespace onnx_cudnn

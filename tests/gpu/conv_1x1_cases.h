// Convolutions 1×1 of ResNet-50 at large batches, as the kernel conv_1x1 takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// relu(Conv(x) + residual), or relu(Conv(x) + Conv(z)) where z has channels. f16.
struct Conv1x1Case {
  int64_t channels, filters, side;  // of x and the result, which is side × side
  int64_t other_channels = 0;       // of z
  int64_t stride = 1;               // over z, whose sides are longer by it

  // A graph whose weights are called w….
  std::string Text(int64_t batch) const;
  // "64+64->256@56"
  std::string Name() const;
  int64_t flops(int64_t batch) const;
  int64_t bytes(int64_t batch) const;  // that must be read and written: no skipped pixels
  // µs in which the device could do it.
  double FloorUs(int64_t batch, const DeviceInfo& info) const;
};

// The last convolution of a block in each of the four stages, without and with the downsample
// branch.
std::vector<Conv1x1Case> ResNet50Conv1x1Cases();

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <optional>

#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// A small convolution as a product: out[pixels, filters] = patches[pixels, depth] × weights.
struct SmallProduct {
  int64_t pixels, filters, depth;  // depth: input channels × taps, of all sources
  bool has_prologue;               // element-wise ops stand before it
};

// µs of the kernel small_batch_conv with the best of its tiles, one such launch after another;
// nothing where no tile holds all of its depth in shared memory.
std::optional<double> SmallBatchConvUs(const SmallProduct& product, const DeviceInfo& info);

}  // namespace onnx_cudnn

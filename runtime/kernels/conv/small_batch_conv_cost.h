#pragma once

#include <cstdint>
#include <optional>

#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// A small convolution as a product: out[pixels, filters] = patches[pixels, depth] × weights.
struct SmallProduct {
  int64_t pixels, filters, depth;  // depth: input channels × taps, over all sources
  bool has_prologue;               // element-wise ops precede it,
  bool is_affine = false;          // those of AffinePrologue alone
};

// µs of the kernel small_batch_conv with the best of its tiles, in a sequence of launches; nullopt
// if no tile holds its whole depth in shared memory.
std::optional<double> SmallBatchConvUs(const SmallProduct& product, const DeviceInfo& info);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/conv/images.h"
#include "runtime/ops/window.h"

namespace onnx_cudnn {

// The layout of an operand of rank 2 or more; spatial axes beyond three are merged into the width.
// Unimplemented if it is neither row-major nor channels-last with channels padded to 1, 4 or 8.
absl::StatusOr<ImageLayout> ImageLayoutOf(const KernelOperand& operand);

// Unimplemented if positions of the window do not fit 32 bits.
absl::Status CheckWindowFits(const Window& window);

// For axes of a window that CheckWindowFits accepts.
ImageAxis ImageAxisOf(const WindowAxis& axis);

// Splits `outer` items of `items` work items each into ranges and calls f(first, count), so that
// each launch has fewer than 2^31 work items. Unimplemented if a single item has more.
template <typename F>
absl::Status ForEachLaunch(int64_t outer, int64_t items, F&& f) {
  constexpr int64_t kMostItems = (int64_t{1} << 31) - 1;
  if (outer == 0 || items == 0) return absl::OkStatus();
  if (items > kMostItems) return absl::UnimplementedError("an image has 2^31 elements or more");
  const int64_t most = kMostItems / items;
  for (int64_t first = 0; first < outer; first += most) f(first, std::min(most, outer - first));
  return absl::OkStatus();
}

}  // namespace onnx_cudnn

#include "runtime/kernels/conv/small_batch_conv_cost.h"

#include <algorithm>

#include "runtime/base/integers.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kTiles[] = {32, 64};       // pixels or filters per block
constexpr int64_t kSplits[] = {1, 2, 4, 8};  // blocks per cluster that share one tile's depth
constexpr int64_t kBytes = 2;                // per element
constexpr int64_t kReservedBytes = 8'192;    // of shared memory, for barriers and partial sums
constexpr double kKiB = 1024;

}  // namespace

std::optional<double> SmallBatchConvUs(const SmallProduct& product, const DeviceInfo& info) {
  const auto& calibration = info.calibration.kernels.small_batch_conv;
  const double of_prologue = product.is_affine ? calibration.affine_prologue : calibration.prologue;
  const double factor = product.has_prologue ? of_prologue : 1;
  std::optional<double> best;
  for (const int64_t pixels : kTiles) {
    for (const int64_t filters : kTiles) {
      for (const int64_t split : kSplits) {
        const int64_t depth = CeilDiv(product.depth, split);
        const int64_t weights = filters * depth * kBytes, patches = pixels * depth * kBytes;
        if (weights + patches + kReservedBytes > info.shared_bytes_per_block) continue;
        const int64_t blocks =
            CeilDiv(product.pixels, pixels) * CeilDiv(product.filters, filters) * split;
        const double waves =
            static_cast<double>(CeilDiv(blocks, std::max(info.multiprocessors, 1)));
        const double fetch_us =
            calibration.us_per_weight_kib * static_cast<double>(weights) / kKiB +
            calibration.us_per_activation_kib * static_cast<double>(patches) / kKiB;
        const double us =
            factor * (calibration.alone_us + waves * (calibration.wave_us + fetch_us)) -
            calibration.overlap_us;
        best = std::min(best.value_or(us), us);
      }
    }
  }
  return best;
}

}  // namespace onnx_cudnn

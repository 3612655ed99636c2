#include "runtime/kernels/conv/small_batch_conv_cost.h"

#include <algorithm>

#include "runtime/base/integers.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kTiles[] = {32, 64};       // pixels or filters of a block
constexpr int64_t kSplits[] = {1, 2, 4, 8};  // blocks of a cluster that share one tile's depth
constexpr int64_t kBytes = 2;                // of an element
constexpr int64_t kReservedBytes = 8'192;    // of shared memory: barriers and partial sums
constexpr double kKiB = 1024;

// Fitted to the 65 launches without a prologue that the tuner timed alone, with cold weights, on
// one H200 at batch 1 and 8 (tools/bench/results/plans-2026-11-22-331d1ee.json).
constexpr double kAloneUs = 0.88;
constexpr double kWaveUs = 1.85;
constexpr double kUsPerWeightKiB = 0.033;
constexpr double kUsPerActivationKiB = 0.026;
// In a network the launch and the fetch of the weights overlap with the launch before: those of
// ResNet-50 at batch 1 then add up to what docs/measurements.md, 'Convolutions of small batches',
// says.
constexpr double kOverlapUs = 0.8;
// Element-wise ops before the products are computed again by every block that reads the patch:
// fitted to the 20 such launches of the same record.
constexpr double kPrologue = 2.7;

}  // namespace

std::optional<double> SmallBatchConvUs(const SmallProduct& product, const DeviceInfo& info) {
  const double factor = product.has_prologue ? kPrologue : 1;
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
        const double fetch_us = kUsPerWeightKiB * static_cast<double>(weights) / kKiB +
                                kUsPerActivationKiB * static_cast<double>(patches) / kKiB;
        const double us = factor * (kAloneUs + waves * (kWaveUs + fetch_us)) - kOverlapUs;
        best = std::min(best.value_or(us), us);
      }
    }
  }
  return best;
}

}  // namespace onnx_cudnn

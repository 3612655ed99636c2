#include "runtime/kernels/conv_chain_cost.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

constexpr int64_t kTiles[] = {32, 64, 128};  // pixels or filters of a block
constexpr int64_t kSplits[] = {1, 2, 4, 8};  // blocks of a cluster that share one tile's depth
constexpr int64_t kBytes = 2;                // of an element
constexpr int64_t kReservedBytes = 8'192;    // of shared memory: barriers and partial sums
constexpr double kKiB = 1024;

// Fitted to readings of one H200 (gpu.md, probe7): a dependent kernel of 120 blocks whose blocks
// fetch weights before and activations after the wait takes 1.47 µs for 0 + 8 KiB, 1.64 for 8 + 8,
// 2.04 for 32 + 8, 3.18 for 64 + 8 and 3.45 for 32 + 32.
constexpr double kBoundaryUs = 0.93;
constexpr double kUsPerWeightKiB = 0.022;
constexpr double kUsPerActivationKiB = 0.059;
// Products, the sum over a cluster and the epilogue: with it the links of ResNet-50 at batch 1 add
// up to the 201 µs that were measured (probe8).
constexpr double kProductUs = 0.85;
// In a chain the kernels take 13 % more than alone (probe8): weights are cold.
constexpr double kChain = 1.13;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::optional<double> ConvChainUs(const SmallProduct& product, const DeviceInfo& info) {
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
        const double us = kChain * (kBoundaryUs + kProductUs + waves * fetch_us);
        best = std::min(best.value_or(us), us);
      }
    }
  }
  return best;
}

}  // namespace onnx_cudnn

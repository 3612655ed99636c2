// Sorts pairs of a key and an index in a workspace; equal keys are ordered by index, so the sort is
// stable and deterministic. Source: K. E. Batcher, "Sorting networks and their
// applications", 1968.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kSortTile = 2048;  // pairs that a block sorts in shared memory

// A 64-bit key with its index. A 32-bit key with an index below 2^32 - 1 is one uint64_t instead:
// SmallPair.
struct alignas(16) WidePair {
  uint64_t key, place;
};
using SmallPair = uint64_t;

// The padded length of a row of `count` pairs: a power of two, at least kSortTile.
inline int64_t SortedCount(int64_t count) {
  int64_t n = kSortTile;
  while (n < count) n *= 2;
  return n;
}
// Sorts each row of `pairs` [rows, count], ascending; `count` is a result of SortedCount.
std::vector<KernelCall> SortPairsCalls(Slot pairs, bool are_wide, int64_t rows, int64_t count);

}  // namespace onnx_cudnn

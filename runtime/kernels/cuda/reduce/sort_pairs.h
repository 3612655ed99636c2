// Sorts pairs of a key and a place in a workspace, the place deciding among equal keys: a stable
// sort with a fixed order of work. Source: K. E. Batcher, "Sorting networks and their
// applications", 1968.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kSortTile = 2048;  // pairs that a block sorts in shared memory

// A key of 64 bits. One of 32 bits and a place below 2^32 - 1 are one uint64_t instead: SmallPair.
struct alignas(16) WidePair {
  uint64_t key, place;
};
using SmallPair = uint64_t;

// A power of two, kSortTile at least, that holds `count` pairs: of a row that is sorted.
inline int64_t SortedCount(int64_t count) {
  int64_t n = kSortTile;
  while (n < count) n *= 2;
  return n;
}
// Sorts each row of `pairs` [rows, count], ascending; `count` is what SortedCount gives.
std::vector<KernelCall> SortPairsCalls(Slot pairs, bool are_wide, int64_t rows, int64_t count);

}  // namespace onnx_cudnn

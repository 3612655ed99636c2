// Pairs (sort_pairs.cuh) as numbers of bytes, for a selection by histograms of one byte each.
#pragma once

#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

namespace onnx_cudnn {

inline constexpr int kBins = 256;  // of a histogram

// Byte `digit` of a pair as a number, the first one first.
__device__ __forceinline__ int DigitOf(SmallPair pair, int digit) {
  return static_cast<int>(pair >> (56 - 8 * digit)) & 0xff;
}
__device__ __forceinline__ int DigitOf(const WidePair& pair, int digit) {
  return DigitOf(digit < 8 ? pair.key : pair.place, digit % 8);
}
__device__ __forceinline__ void SetDigit(SmallPair& pair, int digit, int value) {
  const int shift = 56 - 8 * digit;
  pair = (pair & ~(uint64_t{0xff} << shift)) | static_cast<uint64_t>(value) << shift;
}
__device__ __forceinline__ void SetDigit(WidePair& pair, int digit, int value) {
  SetDigit(digit < 8 ? pair.key : pair.place, digit % 8, value);
}

struct Bin {
  int number, before;  // `before`: the sum of the bins before it
};
// The bin with element `rank` ≥ 1 of the histogram; by a whole warp.
__device__ __forceinline__ Bin BinOf(const int* bins, int rank) {
  constexpr int kOwn = kBins / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int sum = 0;
#pragma unroll
  for (int b = 0; b < kOwn; ++b) sum += bins[lane * kOwn + b];
  int up_to = sum;
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, up_to, delta);
    if (lane >= delta) up_to += other;
  }
  const int owner = __ffs(static_cast<int>(__ballot_sync(0xffffffffu, up_to >= rank))) - 1;
  Bin bin = {lane * kOwn, up_to - sum};
  if (lane == owner) {
    while (bin.before + bins[bin.number] < rank) bin.before += bins[bin.number++];
  }
  return {__shfl_sync(0xffffffffu, bin.number, owner), __shfl_sync(0xffffffffu, bin.before, owner)};
}

}  // namespace onnx_cudnn

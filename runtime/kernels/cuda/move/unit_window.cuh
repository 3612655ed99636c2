// 16-byte accesses of data movers for sources of any alignment.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {

template <typename U>
inline constexpr int kUnitsOf = kVectorBytes / static_cast<int>(sizeof(U));

template <typename U>
__device__ __forceinline__ U ZeroUnit() {
  if constexpr (sizeof(U) == 16) {
    return make_uint4(0, 0, 0, 0);
  } else {
    return U{0};
  }
}

// Collects units that are pushed one after the other; after kUnitsOf<U> pushes they are in order.
template <typename U>
class UnitWindow {
 public:
  __device__ __forceinline__ void Push(U unit) {
    if constexpr (sizeof(U) == 16) {
      words_ = unit;
    } else if constexpr (sizeof(U) == 8) {
      low_ = high_;
      high_ = unit;
    } else {
      constexpr int kBits = 8 * sizeof(U);
      low_ = low_ >> kBits | high_ << (64 - kBits);
      high_ = high_ >> kBits | static_cast<uint64_t>(unit) << (64 - kBits);
    }
  }
  __device__ __forceinline__ uint4 Words() const {
    if constexpr (sizeof(U) == 16) {
      return words_;
    } else {
      return make_uint4(static_cast<uint32_t>(low_), static_cast<uint32_t>(low_ >> 32),
                        static_cast<uint32_t>(high_), static_cast<uint32_t>(high_ >> 32));
    }
  }

 private:
  uint4 words_ = {};
  uint64_t low_ = 0, high_ = 0;
};

// Unit `i` of 16 bytes.
template <typename U>
__device__ __forceinline__ U UnitOf(const uint4& words, int i) {
  if constexpr (sizeof(U) == 16) {
    return words;
  } else {
    const uint64_t low = words.x | static_cast<uint64_t>(words.y) << 32;
    const uint64_t high = words.z | static_cast<uint64_t>(words.w) << 32;
    const int byte = i * static_cast<int>(sizeof(U));
    return static_cast<U>((byte < 8 ? low : high) >> (byte % 8 * 8));
  }
}

// Stores units [first, last) of 16 bytes to the 16-byte aligned address `to`.
template <typename U>
__device__ __forceinline__ void StoreUnits(U* to, const uint4& words, int first, int last) {
  if (first == 0 && last == kUnitsOf<U>) {
    *reinterpret_cast<uint4*>(to) = words;
  } else {
    for (int i = first; i < last; ++i) to[i] = UnitOf<U>(words, i);
  }
}

// 16 bytes starting at byte `shift` of `low`, continued in `high`; `shift` is a multiple of U's
// size.
template <typename U>
__device__ __forceinline__ uint4 Shifted(const uint4& low, const uint4& high, int shift) {
  if constexpr (sizeof(U) == 16) {
    return low;
  } else {
    uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (shift & 8) {
#pragma unroll
      for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
    }
    if (sizeof(U) < 8 && (shift & 4)) {
#pragma unroll
      for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
    }
    const int bits = sizeof(U) < 4 ? (shift & 3) * 8 : 0;
    return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                      __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
  }
}

// Whether LoadShifted stays within `bytes`: `at` + 16 does not exceed them.
__device__ __forceinline__ bool IsLoadable(int64_t at, int64_t bytes) {
  return (at & 15) == 0 || (at | 15) + 17 <= bytes;
}

// The 16 bytes at `from` + `at`, by aligned loads; `from` is 16-byte aligned.
template <typename U>
__device__ __forceinline__ uint4 LoadShifted(const void* from, int64_t at) {
  const int shift = sizeof(U) == 16 ? 0 : static_cast<int>(at & 15);
  const uint4* block = reinterpret_cast<const uint4*>(static_cast<const char*>(from) + at - shift);
  const uint4 low = *block;
  return shift == 0 ? low : Shifted<U>(low, block[1], shift);
}

// Bytes [first, last) of `inside`, other bytes of `outside`.
__device__ __forceinline__ uint4 Blended(const uint4& inside, const uint4& outside, int first,
                                         int last) {
  const uint32_t bytes = (1u << last) - (1u << first);  // one bit per byte
  const auto blend = [&](uint32_t in, uint32_t out, int word) {
    const uint32_t mask = ((bytes >> (4 * word) & 15) * 0x00204081 & 0x01010101) * 0xFF;
    return (in & mask) | (out & ~mask);
  };
  return make_uint4(blend(inside.x, outside.x, 0), blend(inside.y, outside.y, 1),
                    blend(inside.z, outside.z, 2), blend(inside.w, outside.w, 3));
}

}  // namespace onnx_cudnn

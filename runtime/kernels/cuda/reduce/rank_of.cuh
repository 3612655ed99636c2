// The order of numbers as keys of a sort (sort_pairs.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/cuda/common/numbers.cuh"

namespace onnx_cudnn {

// A number that is smaller the earlier `x` is ordered: 32 bits for types of up to 32 bits.
template <typename E>
__device__ __forceinline__ uint64_t RankOf(E x, bool is_largest) {
  uint64_t rank;
  if constexpr (kIsFloat<E> && sizeof(E) < 8) {
    const float number = Widen<float>(x);
    const uint32_t bits = __float_as_uint(number == 0 ? 0.0F : number);
    const uint32_t order = bits >> 31 ? ~bits : bits | 0x80000000u;
    rank = number != number ? 0xffffffffu : order;
  } else if constexpr (kIsFloat<E>) {
    const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x == 0 ? 0.0 : x));
    const uint64_t order = bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
    rank = x != x ? ~uint64_t{0} : order;
  } else if constexpr (sizeof(E) == 8) {
    rank = static_cast<uint64_t>(x) ^ (std::is_signed_v<E> ? uint64_t{1} << 63 : 0);
  } else {
    rank = static_cast<uint32_t>(static_cast<int32_t>(x)) ^ (std::is_signed_v<E> ? 0x80000000u : 0);
  }
  if (!is_largest) return rank;
  return sizeof(E) == 8 ? ~rank : ~static_cast<uint32_t>(rank);
}

}  // namespace onnx_cudnn

// Several elements as one access.
#pragma once

#include <cstdint>
#include <type_traits>

namespace onnx_cudnn {

inline constexpr int kVectorBytes = 16;  // per load or store of a thread

// Elements [0, n), moved by one access of up to 16 bytes or by several of 16.
template <typename T, int n>
struct Vector {
  static constexpr int kBytes = n * static_cast<int>(sizeof(T));
  static constexpr int kAccess = kBytes < kVectorBytes ? kBytes : kVectorBytes;
  static_assert((kAccess & (kAccess - 1)) == 0 && kBytes % kAccess == 0);

  alignas(kAccess) T at[n];

  __device__ __forceinline__ T& operator[](int i) { return at[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return at[i]; }
};

// An unsigned type of the same size; void, which nothing can load, if there is none.
template <int bytes>
using WordOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<
        bytes == 2, uint16_t,
        std::conditional_t<
            bytes == 4, uint32_t,
            std::conditional_t<bytes == 8, uint2, std::conditional_t<bytes == 16, uint4, void>>>>>;

// Whether L2 should keep the accessed data or evict it first.
enum class Reuse : uint8_t { kSome, kNone };

// `from` is aligned to the access size.
template <int n, Reuse reuse = Reuse::kSome, typename T>
__device__ __forceinline__ Vector<T, n> LoadVector(const T* from) {
  using Access = WordOf<Vector<T, n>::kAccess>;
  constexpr int kCount = static_cast<int>(sizeof(Vector<T, n>) / sizeof(Access));
  Vector<T, n> vector;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Access* at = reinterpret_cast<const Access*>(from) + i;
    if constexpr (reuse == Reuse::kNone) {
      reinterpret_cast<Access*>(vector.at)[i] = __ldcs(at);
    } else {
      reinterpret_cast<Access*>(vector.at)[i] = *at;
    }
  }
  return vector;
}
template <Reuse reuse = Reuse::kSome, int n, typename T>
__device__ __forceinline__ void StoreVector(T* to, const Vector<T, n>& vector) {
  using Access = WordOf<Vector<T, n>::kAccess>;
  constexpr int kCount = static_cast<int>(sizeof(Vector<T, n>) / sizeof(Access));
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Access word = reinterpret_cast<const Access*>(vector.at)[i];
    if constexpr (reuse == Reuse::kNone) {
      __stcs(reinterpret_cast<Access*>(to) + i, word);
    } else {
      reinterpret_cast<Access*>(to)[i] = word;
    }
  }
}

// Calls f(U{}) with an unsigned type U of the same size, of 1, 2, 4 or 8 bytes.
template <typename F>
auto VisitWord(int bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}
// The same, also of 16 bytes.
template <typename F>
auto VisitUnit(int unit_bytes, F&& f) {
  return unit_bytes == kVectorBytes ? f(uint4{}) : VisitWord(unit_bytes, f);
}

}  // namespace onnx_cudnn

// Vectors in which two 16-bit elements share a register.
#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {

// Hides the content of a vector of whole 32-bit words from the compiler.
template <typename V>
__device__ __forceinline__ void Hide(V& vector) {
  if constexpr (sizeof(V) % 4 == 0) {
    uint32_t words[sizeof(V) / 4];
    memcpy(words, &vector, sizeof(V));
#pragma unroll
    for (uint32_t& word : words) asm volatile("" : "+r"(word));
    memcpy(&vector, words, sizeof(V));
  }
}

// A vector as words. Where branches join, the compiler unpacks 16-bit elements directly after their
// load and so waits for it; it does not do so for words.
template <typename T, int n>
class Packed {
 public:
  Packed() = default;
  __device__ __forceinline__ explicit Packed(const Vector<T, n>& vector) {
    memcpy(&held_, &vector, sizeof(held_));
    Hide(held_);
  }
  __device__ __forceinline__ Vector<T, n> Elements() const {
    Vector<T, n> vector;
    memcpy(&vector, &held_, sizeof(held_));
    return vector;
  }

 private:
  static constexpr int kBytes = static_cast<int>(sizeof(Vector<T, n>));
  struct Words {
    uint32_t at[kBytes / 4];
  };
  std::conditional_t<kBytes % 4 == 0, Words, Vector<T, n>> held_;
};

// Converts elements to numbers; 16-bit floats are unpacked from words.
template <typename C, typename T, int n>
__device__ __forceinline__ void WidenAll(const Vector<T, n>& vector, C (&numbers)[n]) {
  if constexpr (kIs16BitFloat<T> && std::is_same_v<C, float> && n % 2 == 0) {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      uint32_t word;
      memcpy(&word, &vector.at[i], sizeof(word));
      if constexpr (std::is_same_v<T, Half>) {
        __half2 pair;
        memcpy(&pair, &word, sizeof(pair));
        const float2 both = __half22float2(pair);
        numbers[i] = both.x;
        numbers[i + 1] = both.y;
      } else {
        numbers[i] = __uint_as_float(word << 16);
        numbers[i + 1] = __uint_as_float(word & 0xffff0000u);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) numbers[i] = Widen<C>(vector[i]);
  }
}

// Converts numbers to elements; 16-bit floats in pairs.
template <typename T, typename C, int n>
__device__ __forceinline__ Vector<T, n> NarrowAll(const C (&numbers)[n]) {
  Vector<T, n> vector;
  if constexpr (kIs16BitFloat<T> && std::is_same_v<C, float> && n % 2 == 0) {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      if constexpr (std::is_same_v<T, Half>) {
        const __half2 pair = __floats2half2_rn(numbers[i], numbers[i + 1]);
        memcpy(&vector.at[i], &pair, sizeof(pair));
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(numbers[i], numbers[i + 1]);
        memcpy(&vector.at[i], &pair, sizeof(pair));
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) vector[i] = Narrow<T>(numbers[i]);
  }
  return vector;
}

}  // namespace onnx_cudnn

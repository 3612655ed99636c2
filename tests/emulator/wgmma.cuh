// Stands for runtime/kernels/cuda/wgmma.cuh: what the instruction computes, at once.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

// Where element (k, n) of the operand in shared memory lies: by 8 of K and 8 of N without a
// swizzle, else by pixels of 128 bytes.
inline uint32_t OperandAddress(uint64_t descriptor, int k, int n) {
  const uint32_t start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  const uint32_t along_k = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  const uint32_t along_n = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  const bool swizzles = descriptor >> 62 == 1;
  if (!swizzles) return start + k / 8 * along_k + n / 8 * along_n + n % 8 * 16 + k % 8 * 2;
  const uint32_t plain = start + n / 8 * along_n + n % 8 * 128 + k * 2;
  return plain ^ (plain >> 7 & 7) << 4;
}

template <typename T, int kCount>
void Wgmma(T, float (&d)[kCount], const uint4& a, uint64_t b, int accumulates) {
  constexpr int kDepth = 16;
  const int lane = emulator::Lane(), group = lane & ~3;
  float rows[2][kDepth];
  const uint32_t mine[4] = {a.x, a.y, a.z, a.w};
  for (int word = 0; word < 4; ++word) {
    const uint64_t* words = emulator::Exchange(~0u, mine[word]);
    for (int t = 0; t < 4; ++t) {
      for (int e = 0; e < 2; ++e) {
        const auto bits = static_cast<uint16_t>(words[group + t] >> (16 * e));
        rows[word % 2][2 * t + e + word / 2 * 8] =
            static_cast<float>(emulator::ValueOfBits<T>(bits));
      }
    }
  }
  for (int i = 0; i < kCount; ++i) {
    const int row = i / 2 % 2, n = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float sum = accumulates != 0 ? d[i] : 0;
    for (int k = 0; k < kDepth; ++k) {
      T element;
      std::memcpy(&element, emulator::AtShared(OperandAddress(b, k, n)), sizeof(T));
      sum += rows[row][k] * static_cast<float>(element);
    }
    d[i] = sum;
  }
  emulator::Exchange(~0u, 0);
}

template <int kCount>
void Pin(float (&)[kCount]) {}
inline void WgmmaFence() {}
inline void WgmmaCommit() {}
template <int kPending, int kCount>
void WgmmaWait(float (&)[kCount]) {}

}  // namespace onnx_cudnn

// Stands for runtime/kernels/cuda/common/wgmma.cuh: what the instruction computes, at once.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

inline uint64_t SwizzledOperand(uint32_t at) {
  return uint64_t{1u << 30 | 1024 >> 4} << 32 | 1 << 16 | at >> 4;
}

// Where element (k, n) of an operand in shared memory lies: by 16 bytes of K and 8 of N without a
// swizzle, else by pixels of 128 bytes.
template <typename T>
uint32_t OperandAddress(uint64_t descriptor, int k, int n) {
  constexpr int kUnit = 16 / sizeof(T);
  const uint32_t start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  const uint32_t along_k = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  const uint32_t along_n = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  const bool swizzles = descriptor >> 62 == 1;
  if (!swizzles)
    return start + k / kUnit * along_k + n / 8 * along_n + n % 8 * 16 + k % kUnit * sizeof(T);
  const uint32_t plain = start + n / 8 * along_n + n % 8 * 128 + k * sizeof(T);
  return plain ^ (plain >> 7 & 7) << 4;
}

template <typename T>
float OperandElement(uint64_t descriptor, int k, int n) {
  T element;
  std::memcpy(&element, emulator::AtShared(OperandAddress<T>(descriptor, k, n)), sizeof(T));
  return static_cast<float>(element);
}

// The low 13 bits of f32 count for nothing.
template <>
inline float OperandElement<float>(uint64_t descriptor, int k, int n) {
  uint32_t bits;
  std::memcpy(&bits, emulator::AtShared(OperandAddress<float>(descriptor, k, n)), sizeof(bits));
  return emulator::ValueOfBits<float>(bits & ~0x1fffu);
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
      sum += rows[row][k] * OperandElement<T>(b, k, n);
    }
    d[i] = sum;
  }
  emulator::Exchange(~0u, 0);
}

template <int kCount>
void Wgmma(float, float (&d)[kCount], const uint4& a, uint64_t b, int accumulates) {
  constexpr int kDepth = 8;
  const int lane = emulator::Lane(), group = lane & ~3;
  float rows[2][kDepth];
  const uint32_t mine[4] = {a.x, a.y, a.z, a.w};
  for (int word = 0; word < 4; ++word) {
    const uint64_t* words = emulator::Exchange(~0u, mine[word]);
    for (int t = 0; t < 4; ++t) {
      const auto bits = static_cast<uint32_t>(words[group + t]) & ~0x1fffu;
      rows[word % 2][t + word / 2 * 4] = emulator::ValueOfBits<float>(bits);
    }
  }
  for (int i = 0; i < kCount; ++i) {
    const int row = i / 2 % 2, n = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float sum = accumulates != 0 ? d[i] : 0;
    for (int k = 0; k < kDepth; ++k) sum += rows[row][k] * OperandElement<float>(b, k, n);
    d[i] = sum;
  }
  emulator::Exchange(~0u, 0);
}

template <typename T, int kCount>
void Wgmma(T, float (&d)[kCount], uint64_t a, uint64_t b, int accumulates) {
  constexpr int kDepth = 32 / sizeof(T), kRows = 64;
  const int lane = emulator::Lane();
  const int first = (static_cast<int>(emulator::place->thread.x) / 32 * 16 + lane / 4) % kRows;
  float rows[2][kDepth];
  for (int k = 0; k < 2 * kDepth; ++k) {
    rows[k / kDepth][k % kDepth] = OperandElement<T>(a, k % kDepth, first + k / kDepth * 8);
  }
  for (int i = 0; i < kCount; ++i) {
    if (accumulates == 0) d[i] = 0;
  }
  for (int column = 0; column < kCount / 2; ++column) {
    const int n = column / 2 * 8 + lane % 4 * 2 + column % 2, at = column / 2 * 4 + column % 2;
    for (int k = 0; k < kDepth; ++k) {
      const float element = OperandElement<T>(b, k, n);
      d[at] += rows[0][k] * element;
      d[at + 2] += rows[1][k] * element;
    }
  }
}

// A warp's lanes meet at these, as at .sync.aligned instructions.
template <int kCount>
void Pin(float (&)[kCount]) {}
inline void WgmmaFence() { emulator::Exchange(~0u, 0); }
inline void WgmmaCommit() {}
template <int kPending, int kCount>
void WgmmaWait(float (&)[kCount]) {
  emulator::Exchange(~0u, 0);
}

}  // namespace onnx_cudnn

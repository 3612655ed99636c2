// Stands for runtime/kernels/cuda/common/wgmma.cuh.
#pragma once

#include <cstdint>

#include "tests/emulator/device.h"

namespace onnx_cudnn {

inline uint64_t SwizzledOperand(uint32_t at) {
  return uint64_t{1u << 30 | 1024 >> 4} << 32 | 1 << 16 | at >> 4;
}

inline uint64_t TransposedOperand(uint32_t at, uint32_t between) {
  return uint64_t{1u << 30 | 1024 >> 4} << 32 | between >> 4 << 16 | at >> 4;
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

// The same of a TransposedOperand.
template <typename T>
float TransposedElement(uint64_t descriptor, int k, int n) {
  const uint32_t start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  const uint32_t between = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  const uint32_t along_k = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  const uint32_t plain =
      start + n / 64 * between + k / 8 * along_k + k % 8 * 128 + n % 64 * sizeof(T);
  T element;
  std::memcpy(&element, emulator::AtShared(plain ^ (plain >> 7 & 7) << 4), sizeof(T));
  return static_cast<float>(element);
}

// Element e of a word; the low 13 bits of f32 count for nothing.
template <typename T>
float RegisterElement(uint32_t word, int e) {
  if constexpr (sizeof(T) == 4) return emulator::ValueOfBits<float>(word & ~0x1fffu);
  return static_cast<float>(emulator::ValueOfBits<T>(static_cast<uint16_t>(word >> (16 * e))));
}
template <>
inline float OperandElement<float>(uint64_t descriptor, int k, int n) {
  uint32_t word;
  std::memcpy(&word, emulator::AtShared(OperandAddress<float>(descriptor, k, n)), sizeof(word));
  return RegisterElement<float>(word, 0);
}

// What a thread has of a product: rows lane / 4 and the eighth behind it of its warp's sixteen.
template <typename T, int kCount, int kDepth, bool kTransposed = false>
void AddProducts(const float (&rows)[2][16], uint64_t b, float* sums) {
  const int lane = emulator::Lane();
  for (int column = 0; column < kCount / 2; ++column) {
    const int n = column / 2 * 8 + lane % 4 * 2 + column % 2, at = column / 2 * 4 + column % 2;
    for (int k = 0; k < kDepth; ++k) {
      const float element =
          kTransposed ? TransposedElement<T>(b, k, n) : OperandElement<T>(b, k, n);
      sums[at] += rows[0][k] * element;
      sums[at + 2] += rows[1][k] * element;
    }
  }
}

template <typename T, int kCount, bool kTransposed>
void MultiplyRegisters(const emulator::Product& product, float* sums) {
  if (!product.accumulates) std::fill_n(sums, kCount, 0.0F);
  AddProducts<T, kCount, 32 / sizeof(T), kTransposed>(product.rows, product.b, sums);
}

template <typename T, int kCount>
void MultiplyShared(const emulator::Product& product, float* sums) {
  constexpr int kDepth = 32 / sizeof(T), kRows = 64;
  const int first =
      (static_cast<int>(emulator::place->thread.x) / 32 * 16 + emulator::Lane() / 4) % kRows;
  float rows[2][16];
  for (int k = 0; k < 2 * kDepth; ++k) {
    rows[k / kDepth][k % kDepth] = OperandElement<T>(product.a, k % kDepth, first + k / kDepth * 8);
  }
  if (!product.accumulates) std::fill_n(sums, kCount, 0.0F);
  AddProducts<T, kCount, kDepth>(rows, product.b, sums);
}

// The operand in registers is read here, the one in shared memory when the product runs.
template <typename T, bool kTransposed = false, int kCount>
void Wgmma(T, float (&d)[kCount], const uint4& a, uint64_t b, int accumulates) {
  constexpr int kElements = 4 / sizeof(T), kQuarter = 4 * kElements;  // of a word, of four lanes'
  emulator::Product product = {.multiply = MultiplyRegisters<T, kCount, kTransposed>,
                               .d = d,
                               .count = kCount,
                               .b = b,
                               .accumulates = accumulates != 0};
  const int group = emulator::Lane() & ~3;
  const uint32_t mine[4] = {a.x, a.y, a.z, a.w};
  for (int word = 0; word < 4; ++word) {
    const uint64_t* words = emulator::Exchange(~0u, mine[word]);
    for (int t = 0; t < 4; ++t) {
      for (int e = 0; e < kElements; ++e) {
        product.rows[word % 2][kElements * t + e + word / 2 * kQuarter] =
            RegisterElement<T>(static_cast<uint32_t>(words[group + t]), e);
      }
    }
  }
  emulator::StartProduct(product);
}

template <typename T, int kCount>
void WgmmaTransposed(T element, float (&d)[kCount], const uint4& a, uint64_t b, int accumulates) {
  Wgmma<T, true>(element, d, a, b, accumulates);
}

template <typename T, int kCount>
void Wgmma(T, float (&d)[kCount], uint64_t a, uint64_t b, int accumulates) {
  emulator::StartProduct({.multiply = MultiplyShared<T, kCount>,
                          .d = d,
                          .count = kCount,
                          .a = a,
                          .b = b,
                          .accumulates = accumulates != 0});
}

// A warp's lanes meet at these, as at .sync.aligned instructions.
template <int kCount>
void Pin(float (&)[kCount]) {}
inline void WgmmaFence() {
  emulator::FenceProducts();
  emulator::Exchange(~0u, 0);
}
inline void WgmmaCommit() { emulator::CommitProducts(); }
template <int kPending, int kCount>
void WgmmaWait(float (&)[kCount]) {
  emulator::WaitForProducts(kPending);
  emulator::Exchange(~0u, 0);
}

}  // namespace onnx_cudnn

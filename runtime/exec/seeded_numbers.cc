#include "runtime/exec/seeded_numbers.h"

#include <array>
#include <cstring>

#include "runtime/base/thread_pool.h"
#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

// A hash of which any seven bits are practically random (splitmix64).
uint64_t Scrambled(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

constexpr int64_t kGrain = 16384;  // elements
constexpr int kValues = 256;

// make(bits): an element made from eight random bits
template <typename T, typename Make>
void Fill(T* to, int64_t n, uint64_t seed, Make make) {
  std::array<T, kValues> values;
  for (int bits = 0; bits < kValues; ++bits) values[bits] = make(bits);
  const uint64_t start = Scrambled(seed + 1);
  ThreadPool::Default().ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    uint64_t at = start + static_cast<uint64_t>(begin) * 0x9e3779b97f4a7c15u;
    for (int64_t i = begin; i < end; ++i) {
      at += 0x9e3779b97f4a7c15u;
      to[i] = values[Scrambled(at) % kValues];
    }
  });
}

float Fraction(int bits) { return static_cast<float>(bits - 128) / 128; }

}  // namespace

HostTensor SeededNumbers(DType dtype, const Dims& dims, uint64_t seed, IndexValues indices) {
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  WriteSeededNumbers(dtype, tensor.elements(), seed, indices, tensor.mutable_raw());
  return tensor;
}

void WriteSeededNumbers(DType dtype, int64_t elements, uint64_t seed, IndexValues indices,
                        void* to) {
  const int mask = indices == IndexValues::kZeroOrOne ? 1 : 0;
  const auto index = [mask](int bits) { return bits & mask; };
  switch (dtype) {
    case DType::kF32:
      Fill(static_cast<float*>(to), elements, seed, Fraction);
      break;
    case DType::kF64:
      Fill(static_cast<double*>(to), elements, seed, Fraction);
      break;
    case DType::kF16:
      Fill(static_cast<Float16*>(to), elements, seed,
           [](int bits) { return ToFloat16(Fraction(bits)); });
      break;
    case DType::kBF16:
      Fill(static_cast<BFloat16*>(to), elements, seed,
           [](int bits) { return ToBFloat16(Fraction(bits)); });
      break;
    case DType::kI8:
    case DType::kU8:
      Fill(static_cast<uint8_t*>(to), elements, seed, [](int bits) { return bits & 7; });
      break;
    case DType::kBool:
      Fill(static_cast<uint8_t*>(to), elements, seed, [](int bits) { return bits & 1; });
      break;
    case DType::kI16:
    case DType::kU16:
      Fill(static_cast<uint16_t*>(to), elements, seed, index);
      break;
    case DType::kI32:
    case DType::kU32:
      Fill(static_cast<uint32_t*>(to), elements, seed, index);
      break;
    case DType::kI64:
    case DType::kU64:
      Fill(static_cast<uint64_t*>(to), elements, seed, index);
      break;
    default:
      if (elements > 0) std::memset(to, 0, BytesOf(dtype, elements));
  }
}

}  // namespace onnx_cudnn

#include "runtime/exec/seeded_numbers.h"

#include <cstring>

#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

// Seven bits or more of each are as good as random (splitmix64).
uint64_t Scrambled(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// make(bits): an element of eight random bits
template <typename T, typename Make>
void Fill(HostTensor& tensor, uint64_t seed, Make make) {
  uint64_t at = Scrambled(seed + 1);
  for (T& element : tensor.mutable_data<T>()) {
    at += 0x9e3779b97f4a7c15u;
    element = make(static_cast<int>(Scrambled(at) & 0xff));
  }
}

float Fraction(int bits) { return static_cast<float>(bits - 128) / 128; }

}  // namespace

HostTensor SeededNumbers(DType dtype, const Dims& dims, uint64_t seed, IndexValues indices) {
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  if (tensor.bytes() > 0) std::memset(tensor.mutable_raw(), 0, tensor.bytes());
  const int mask = indices == IndexValues::kZeroOrOne ? 1 : 0;
  const auto index = [mask](int bits) { return bits & mask; };
  switch (dtype) {
    case DType::kF32:
      Fill<float>(tensor, seed, Fraction);
      break;
    case DType::kF64:
      Fill<double>(tensor, seed, Fraction);
      break;
    case DType::kF16:
      Fill<Float16>(tensor, seed, [](int bits) { return ToFloat16(Fraction(bits)); });
      break;
    case DType::kBF16:
      Fill<BFloat16>(tensor, seed, [](int bits) { return ToBFloat16(Fraction(bits)); });
      break;
    case DType::kI8:
    case DType::kU8:
      Fill<uint8_t>(tensor, seed, [](int bits) { return bits & 7; });
      break;
    case DType::kBool:
      Fill<uint8_t>(tensor, seed, [](int bits) { return bits & 1; });
      break;
    case DType::kI16:
    case DType::kU16:
      Fill<uint16_t>(tensor, seed, index);
      break;
    case DType::kI32:
    case DType::kU32:
      Fill<uint32_t>(tensor, seed, index);
      break;
    case DType::kI64:
    case DType::kU64:
      Fill<uint64_t>(tensor, seed, index);
      break;
    default:
      break;
  }
  return tensor;
}

}  // namespace onnx_cudnn

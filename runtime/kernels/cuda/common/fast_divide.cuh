// Division by a number that is known on the host but not to the compiler: a multiplication, an
// addition and a shift. Plain C++, so that parameter structs in .h files can contain it.
// Source: Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.
#pragma once

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define ONNX_CUDNN_BOTH __host__ __device__ __forceinline__
#else
#define ONNX_CUDNN_BOTH inline
#endif

namespace onnx_cudnn {

// n / d for 0 ≤ n < 2^31 and 1 ≤ d < 2^31 (Word uint32_t), or both below 2^63 (uint64_t).
template <typename Word>
struct FastDivide {
  static_assert(std::is_same_v<Word, uint32_t> || std::is_same_v<Word, uint64_t>);

  Word divisor = 1;
  Word multiplier = 1;
  int shift = 0;

  FastDivide() = default;
  explicit FastDivide(int64_t d) : divisor(static_cast<Word>(d)) {
    constexpr int kBits = 8 * sizeof(Word);
    using Wide = std::conditional_t<kBits == 32, uint64_t, unsigned __int128>;
    while ((Wide{1} << shift) < divisor) ++shift;
    const Wide rest = (Wide{1} << shift) - divisor;
    multiplier = static_cast<Word>((rest << kBits) / divisor + 1);
  }

  ONNX_CUDNN_BOTH Word Divide(Word n) const { return (High(n) + n) >> shift; }
  ONNX_CUDNN_BOTH Word Modulo(Word n) const { return n - Divide(n) * divisor; }
  // Returns the remainder; `n` becomes the quotient.
  ONNX_CUDNN_BOTH Word Split(Word& n) const {
    const Word quotient = Divide(n), rest = n - quotient * divisor;
    n = quotient;
    return rest;
  }

 private:
  // The high word of n · multiplier.
  ONNX_CUDNN_BOTH Word High(Word n) const {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(Word) == 4) return __umulhi(n, multiplier);
    if constexpr (sizeof(Word) == 8) return __umul64hi(n, multiplier);
#else
    using Wide = std::conditional_t<sizeof(Word) == 4, uint64_t, unsigned __int128>;
    return static_cast<Word>((Wide{n} * multiplier) >> (8 * sizeof(Word)));
#endif
  }
};

}  // namespace onnx_cudnn

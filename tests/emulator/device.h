// The host's replacements for what nvcc declares for device code; included before every translated
// .cu file.
#pragma once
#pragma GCC system_header  // like the headers that it replaces

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/emulator/emulator.h"

// After the CUDA headers above, which must see host compilation.
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __constant__
#define __constant__ static
#undef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict

#define threadIdx (::onnx_cudnn::emulator::place->thread)
#define blockIdx (::onnx_cudnn::emulator::place->block)
#define blockDim (::onnx_cudnn::emulator::place->block_extent)
#define gridDim (::onnx_cudnn::emulator::place->grid_extent)
inline constexpr int warpSize = 32;

inline void __syncthreads() { onnx_cudnn::emulator::SyncThreads(); }
inline void __trap() { onnx_cudnn::emulator::Fail("__trap"); }

namespace onnx_cudnn::emulator {

template <typename T>
uint64_t BitsOfValue(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
T ValueOfBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// The value that lane `from` passed in. An absent lane gives the lane's own value, since hardware
// leaves it undefined.
template <typename T>
T Shuffle(unsigned mask, T value, int from, bool inside) {
  const uint32_t present = PresentLanes();
  const uint64_t* values = Exchange(mask, BitsOfValue(value));
  const bool there = inside && (mask & present) >> from & 1;
  return there ? ValueOfBits<T>(values[from]) : value;
}

}  // namespace onnx_cudnn::emulator

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = onnx_cudnn::emulator::Lane(), base = lane & ~(width - 1);
  return onnx_cudnn::emulator::Shuffle(mask, value, base + (from & (width - 1)), true);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int change, int width = 32) {
  const int lane = onnx_cudnn::emulator::Lane(), from = lane ^ change;
  return onnx_cudnn::emulator::Shuffle(mask, value, from & 31, (from & ~(width - 1)) <= lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = onnx_cudnn::emulator::Lane(), from = lane - static_cast<int>(delta);
  const bool inside = from >= (lane & ~(width - 1));
  return onnx_cudnn::emulator::Shuffle(mask, value, inside ? from : lane, inside);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = onnx_cudnn::emulator::Lane(), from = lane + static_cast<int>(delta);
  const bool inside = from < (lane & ~(width - 1)) + width;
  return onnx_cudnn::emulator::Shuffle(mask, value, inside ? from : lane, inside);
}
inline void __syncwarp(unsigned mask = ~0u) { onnx_cudnn::emulator::Exchange(mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const uint32_t present = onnx_cudnn::emulator::PresentLanes() & mask;
  const uint64_t* values = onnx_cudnn::emulator::Exchange(mask, predicate != 0 ? 1 : 0);
  unsigned ballot = 0;
  for (int i = 0; i < 32; ++i) ballot |= (present >> i & 1 & values[i]) << i;
  return ballot;
}
inline int __syncthreads_or(int predicate) {
  static int any;  // for one block at a time
  __syncthreads();
  any = 0;
  __syncthreads();
  any |= predicate;
  __syncthreads();
  return any;
}
inline int __syncthreads_and(int predicate) { return !__syncthreads_or(!predicate); }

// Fibers switch only at barriers, so this is atomic.
template <typename T, typename F>
T Exchanged(T* at, F next) {
  const T before = *at;
  *at = next(before);
  return before;
}
template <typename T>
T atomicMax(T* at, std::type_identity_t<T> x) {
  return Exchanged(at, [&](T old) { return std::max(old, x); });
}

template <typename T>
T atomicAdd(T* at, std::type_identity_t<T> x) {
  return Exchanged(at, [&](T old) { return static_cast<T>(old + x); });
}

template <typename T>
T __ldg(const T* at) {
  return *at;
}
template <typename T>
T __ldcg(const T* at) {
  return *at;
}
template <typename T>
T __ldcs(const T* at) {
  return *at;
}
template <typename T>
void __stcs(T* at, std::type_identity_t<T> x) {
  *at = x;
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((uint64_t{a} * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = selector >> (4 * i) & 15;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (s & 7))) & 255;
    if ((s & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31));
}

// Device approximations are exact functions here.
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }

// Processes four bytes at once.
template <typename Byte, typename F>
unsigned EachByte(unsigned a, unsigned b, F f) {
  unsigned result = 0;
  for (int i = 0; i < 32; i += 8) {
    const Byte made = f(static_cast<Byte>(a >> i), static_cast<Byte>(b >> i));
    result |= static_cast<unsigned>(static_cast<uint8_t>(made)) << i;
  }
  return result;
}
inline unsigned __vmaxs4(unsigned a, unsigned b) {
  return EachByte<int8_t>(a, b, [](int8_t x, int8_t y) { return std::max(x, y); });
}
inline unsigned __vmaxu4(unsigned a, unsigned b) {
  return EachByte<uint8_t>(a, b, [](uint8_t x, uint8_t y) { return std::max(x, y); });
}

// Overloads for the types that CUDA mixes.
template <typename A, typename B>
constexpr auto min(A a, B b) -> std::common_type_t<A, B> {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <typename A, typename B>
constexpr auto max(A a, B b) -> std::common_type_t<A, B> {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

inline uint32_t __cvta_generic_to_shared(const void* pointer) {
  return onnx_cudnn::emulator::SharedAddressOf(pointer);
}

#include "tests/emulator/ptx.h"

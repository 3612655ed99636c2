// QuantizeLinear: y = saturate(round(x / scale) + zero), DequantizeLinear: y = (x - zero) · scale,
// rounded once like the reference, which works in f64: quotients of floats are correctly rounded in
// f32, products are kept exact until they are rounded. 8 elements per thread, one after the other.
#include "runtime/kernels/cuda/pointwise/quantize.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/small_floats.h"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kBlock = 256, kWidth = 8;

struct QuantizeParameters {
  const void *x, *scale, *zero;
  void* y;
  int64_t count;
  ScaleLanes lanes;
  FastDivide<uint64_t> inner, extent, block;
  QuantizeOptions options;
};

__device__ __forceinline__ float LoadScale(DType dtype, const void* from, int64_t i) {
  if (dtype == DType::kF32) return static_cast<const float*>(from)[i];
  if (dtype == DType::kF16) return __half2float(static_cast<const Half*>(from)[i]);
  if (dtype == DType::kBF16) return __bfloat162float(static_cast<const BHalf*>(from)[i]);
  const int code = static_cast<const uint8_t*>(from)[i];
  if (code == 255) return __uint_as_float(0x7fc00000u);
  return code == 0 ? 0x1p-127F : PowerOfTwo(code - 127);
}

__device__ __forceinline__ bool IsSmallFloat(DType dtype) {
  return dtype >= DType::kF8E4M3FN && dtype <= DType::kF8E5M2FNUZ;
}

// Not inlined, so that eight uses do not become eight copies.
__device__ __noinline__ float Decoded(DType dtype, uint8_t code) {
  return DecodeSmallFloat(SmallFloatFormOf(dtype), code);
}
__device__ __noinline__ uint8_t Encoded(DType dtype, float number, bool saturate) {
  return EncodeSmallFloat(SmallFloatFormOf(dtype), number, saturate);
}

// The number with these bits, of an 8- or 16-bit type.
__device__ __forceinline__ float NumberOf(DType dtype, uint16_t bits) {
  if (dtype == DType::kI8) return static_cast<float>(static_cast<int8_t>(bits));
  if (dtype == DType::kI16) return static_cast<float>(static_cast<int16_t>(bits));
  if (IsSmallFloat(dtype)) return Decoded(dtype, static_cast<uint8_t>(bits));
  return static_cast<float>(bits);
}

__device__ __forceinline__ float LoadQuantized(DType dtype, const void* from, int64_t i) {
  const bool is_wide = dtype == DType::kU16 || dtype == DType::kI16;
  return NumberOf(dtype, is_wide ? static_cast<const uint16_t*>(from)[i]
                                 : static_cast<const uint8_t*>(from)[i]);
}

// Iterates over the scales and zero points of consecutive elements.
class ScaleWalk {
 public:
  float scale, zero;

  __device__ __forceinline__ ScaleWalk(const QuantizeParameters& p, int64_t element) : p_(p) {
    if (!p.lanes.one) {
      uint64_t rest = static_cast<uint64_t>(element);
      i_ = static_cast<int64_t>(p.inner.Split(rest));
      e_ = static_cast<int64_t>(p.extent.Split(rest));
      o_ = static_cast<int64_t>(rest);
    }
    Read();
  }
  __device__ __forceinline__ void Next() {
    if (p_.lanes.one) return;
    const bool moves = p_.lanes.step != 0 || i_ + 1 == p_.lanes.inner;
    if (++i_ == p_.lanes.inner) {
      i_ = 0;
      if (++e_ == p_.lanes.extent) {
        e_ = 0;
        ++o_;
      }
    }
    if (moves) Read();
  }

 private:
  __device__ __forceinline__ void Read() {
    const ScaleLanes& l = p_.lanes;
    const auto block = static_cast<int64_t>(p_.block.Divide(static_cast<uint64_t>(e_)));
    const int64_t within = l.one ? 0 : block * l.row + i_ * l.step;
    scale = LoadScale(p_.options.scale, p_.scale, within + o_ * l.scale_outer);
    zero = 0;
    if (!p_.options.has_zero) return;
    const DType dtype = IsQuantized(p_.options.to) ? p_.options.to : p_.options.from;
    // Zero points of type i32 are read at their use, because f32 cannot represent them.
    zero_at_ = within + o_ * l.zero_outer;
    if (dtype != DType::kI32) zero = LoadQuantized(dtype, p_.zero, zero_at_);
  }
  __device__ __forceinline__ static bool IsQuantized(DType dtype) {
    return dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16;
  }

  const QuantizeParameters& p_;
  int64_t o_ = 0, e_ = 0, i_ = 0, zero_at_ = 0;

 public:
  __device__ __forceinline__ double WideZero() const {
    if (!p_.options.has_zero) return 0;
    return static_cast<const int32_t*>(p_.zero)[zero_at_];
  }
};

__device__ __forceinline__ float Rounded(DType precision, float x) {
  if (precision == DType::kF16) return __half2float(__float2half_rn(x));
  if (precision == DType::kBF16) return __bfloat162float(__float2bfloat16_rn(x));
  return x;
}

// The bits of the quantized number, in the low bits.
__device__ __forceinline__ uint16_t Quantized(const QuantizeParameters& p, float x,
                                              const ScaleWalk& walk) {
  const DType precision = p.options.precision;
  const float quotient =
      Rounded(precision, __fdiv_rn(Rounded(precision, x), Rounded(precision, walk.scale)));
  if (IsSmallFloat(p.options.to)) {
    float sum = quotient;
    if (walk.zero != 0) {  // preserves the sign of zero
      sum = RoundToOdd(static_cast<double>(quotient) + static_cast<double>(walk.zero));
    }
    return Encoded(p.options.to, sum, p.options.saturate);
  }
  const float number = rintf(quotient) + walk.zero;
  float lowest = 0, highest = 255;
  if (p.options.to == DType::kI8) lowest = -128, highest = 127;
  if (p.options.to == DType::kU16) highest = 65535;
  if (p.options.to == DType::kI16) lowest = -32768, highest = 32767;
  // NaN becomes the lowest.
  const float bounded = number > lowest ? fminf(number, highest) : lowest;
  return static_cast<uint16_t>(static_cast<int>(bounded));
}

// The product rounded to odd in f32 (inexact results get an odd last bit).
__device__ __forceinline__ float OddProduct(float a, float b) {
  const float product = __fmul_rn(a, b), rest = __fmaf_rn(a, b, -product);
  if (rest == 0 || rest != rest || isinf(product)) return product;
  uint32_t bits = __float_as_uint(product);
  if ((rest > 0) != (product > 0)) --bits;
  return __uint_as_float(bits | 1);
}

template <typename To>
__device__ __forceinline__ To Dequantized(const QuantizeParameters& p, float x,
                                          const ScaleWalk& walk) {
  const bool is_inexact = IsSmallFloat(p.options.from) && walk.zero != 0;
  if (is_inexact) {
    const double difference = static_cast<double>(x) - static_cast<double>(walk.zero);
    return Narrow<To>(difference * static_cast<double>(walk.scale));
  }
  const float difference = x - walk.zero;
  if constexpr (std::is_same_v<To, float>) return difference * walk.scale;
  return Narrow<To>(OddProduct(difference, walk.scale));
}

// Loads, converts and stores the elements of a thread with f(element, walk).
template <typename From, typename To, typename F>
__device__ __forceinline__ void MapEight(const QuantizeParameters& p, F&& f) {
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x) * kWidth;
  if (first >= p.count) return;
  const From* x = static_cast<const From*>(p.x) + first;
  To* y = static_cast<To*>(p.y) + first;
  ScaleWalk walk(p, first);
  if (first + kWidth > p.count) {
    for (int64_t k = 0; k < p.count - first; ++k) {
      if (k > 0) walk.Next();
      y[k] = f(x[k], walk);
    }
    return;
  }
  const Vector<From, kWidth> loaded = LoadVector<kWidth>(x);
  Vector<To, kWidth> stored;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    if (k > 0) walk.Next();
    stored[k] = f(loaded[k], walk);
  }
  StoreVector(y, stored);
}

template <typename From, typename Bits>
__global__ void __launch_bounds__(kBlock) Quantize(QuantizeParameters p) {
  WaitForLaunchBefore();
  MapEight<From, Bits>(p, [&](From x, const ScaleWalk& walk) {
    return static_cast<Bits>(Quantized(p, Widen<float>(x), walk));
  });
}

template <typename Bits, typename To>
__global__ void __launch_bounds__(kBlock) Dequantize(QuantizeParameters p) {
  WaitForLaunchBefore();
  MapEight<Bits, To>(p, [&](Bits bits, const ScaleWalk& walk) {
    if constexpr (sizeof(Bits) == 4) {
      const double difference = static_cast<double>(static_cast<int32_t>(bits)) - walk.WideZero();
      return Narrow<To>(difference * static_cast<double>(walk.scale));
    } else {
      return Dequantized<To>(p, NumberOf(p.options.from, bits), walk);
    }
  });
}

using Quantizes = void (*)(QuantizeParameters);

KernelCall CallOf(Quantizes kernel, int64_t elements, const ScaleLanes& lanes,
                  const QuantizeOptions& options, const QuantizeSlots& slots) {
  const QuantizeParameters p{.count = elements,
                             .lanes = lanes,
                             .inner = FastDivide<uint64_t>(lanes.inner),
                             .extent = FastDivide<uint64_t>(lanes.extent),
                             .block = FastDivide<uint64_t>(lanes.block),
                             .options = options};
  constexpr int64_t kOfBlock = kBlock * kWidth;
  const LaunchShape shape{.grid = {static_cast<unsigned>((elements + kOfBlock - 1) / kOfBlock)},
                          .block = {kBlock}};
  KernelCall call = KernelCall::Of(kernel, shape, p);
  call.Bind(offsetof(QuantizeParameters, x), slots.x);
  call.Bind(offsetof(QuantizeParameters, scale), slots.scale);
  if (options.has_zero) call.Bind(offsetof(QuantizeParameters, zero), slots.zero);
  call.Bind(offsetof(QuantizeParameters, y), slots.y);
  return call;
}

bool Has16Bits(DType dtype) { return dtype == DType::kU16 || dtype == DType::kI16; }

}  // namespace

KernelCall QuantizeCall(int64_t elements, const ScaleLanes& lanes, const QuantizeOptions& options,
                        const QuantizeSlots& slots) {
  using Visitor = DTypeVisitor<Quantizes, float, Half, BHalf, int32_t>;
  const Quantizes kernel = Visitor::Visit(options.from, [&](auto e) -> Quantizes {
    using From = decltype(e);
    return Has16Bits(options.to) ? Quantize<From, uint16_t> : Quantize<From, uint8_t>;
  });
  return CallOf(kernel, elements, lanes, options, slots);
}

KernelCall DequantizeCall(int64_t elements, const ScaleLanes& lanes, const QuantizeOptions& options,
                          const QuantizeSlots& slots) {
  using Visitor = DTypeVisitor<Quantizes, float, Half, BHalf>;
  const Quantizes kernel = Visitor::Visit(options.to, [&](auto e) -> Quantizes {
    using To = decltype(e);
    if (options.from == DType::kI32) return Dequantize<uint32_t, To>;
    return Has16Bits(options.from) ? Dequantize<uint16_t, To> : Dequantize<uint8_t, To>;
  });
  return CallOf(kernel, elements, lanes, options, slots);
}

}  // namespace onnx_cudnn

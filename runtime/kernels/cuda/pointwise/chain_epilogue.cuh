// Interprets a ChainProgram for four neighbouring lanes of a thread. Branches are uniform: all
// threads are at the same step. Registers are selected, never indexed, so that they stay registers.
#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/pointwise/chain_epilogue.h"
#include "runtime/kernels/cuda/pointwise/primitives.cuh"

namespace onnx_cudnn {

inline constexpr int kChainLanes = 4;

struct ChainValues {
  float at[kChainLanes];
};

// Where lane 0 of a thread lies. Lanes go along channels, or along columns.
struct ChainPlace {
  int64_t image;
  int channel, depth, row, column;
};

// Lanes of an operand that the kernel has loaded before; operand < 0: none.
struct ChainPrefetch {
  int operand = -1;
  ChainValues values;
};

__device__ __forceinline__ int64_t OffsetOf(const ChainTensor& t, const ChainPlace& at) {
  return at.image * t.image + at.channel * t.channel + at.depth * t.depth + at.row * t.row +
         at.column * t.column;
}

template <typename E>
__device__ __forceinline__ ChainValues LoadFour(const void* data, int64_t offset) {
  const Vector<E, kChainLanes> four = LoadVector<kChainLanes>(static_cast<const E*>(data) + offset);
  ChainValues values;
#pragma unroll
  for (int i = 0; i < kChainLanes; ++i) values.at[i] = Widen<float>(four[i]);
  return values;
}

// Lanes [0, valid) of a tensor; others are 0. `step`: between lanes, in elements.
__device__ __forceinline__ ChainValues LoadLanes(const ChainTensor& t, int64_t offset, int64_t step,
                                                 int valid) {
  if (t.aligned && valid == kChainLanes) {
    if (t.dtype == DType::kF16) return LoadFour<Half>(t.data, offset);
    if (t.dtype == DType::kBF16) return LoadFour<BHalf>(t.data, offset);
    if (t.dtype == DType::kF32) return LoadFour<float>(t.data, offset);
  }
  ChainValues values;
#pragma unroll
  for (int i = 0; i < kChainLanes; ++i) {
    values.at[i] = i < valid ? LoadNumber<float>(t.dtype, t.data, offset + i * step) : 0;
  }
  return values;
}

template <typename E>
__device__ __forceinline__ void StoreFour(void* data, int64_t offset, const ChainValues& values) {
  Vector<E, kChainLanes> four;
#pragma unroll
  for (int i = 0; i < kChainLanes; ++i) four[i] = Narrow<E>(values.at[i]);
  StoreVector(static_cast<E*>(data) + offset, four);
}

template <typename E>
__device__ __forceinline__ void StoreSome(void* data, int64_t offset, int64_t step, int count,
                                          const ChainValues& values) {
#pragma unroll
  for (int i = 0; i < kChainLanes; ++i) {
    if (i < count) static_cast<E*>(data)[offset + i * step] = Narrow<E>(values.at[i]);
  }
}

// Lanes [0, count) of an output of f32, f16, bf16 or bool.
__device__ __forceinline__ void StoreLanes(const ChainTensor& t, int64_t offset, int64_t step,
                                           int count, const ChainValues& values) {
  const bool whole = t.aligned && count == kChainLanes;
  switch (t.dtype) {
    case DType::kF16:
      if (whole) return StoreFour<Half>(t.data, offset, values);
      return StoreSome<Half>(t.data, offset, step, count, values);
    case DType::kBF16:
      if (whole) return StoreFour<BHalf>(t.data, offset, values);
      return StoreSome<BHalf>(t.data, offset, step, count, values);
    case DType::kF32:
      if (whole) return StoreFour<float>(t.data, offset, values);
      return StoreSome<float>(t.data, offset, step, count, values);
    default:
      return StoreSome<Boolean>(t.data, offset, step, count, values);
  }
}

// primitive(a, b), for some with less code than primitives::Function has.
template <Primitive primitive>
__device__ __forceinline__ float ChainFunction(float a, float b) {
  if constexpr (primitive == Primitive::kMax) {
    return a != a || a > b ? a : b;
  } else if constexpr (primitive == Primitive::kMin) {
    return a != a || a < b ? a : b;
  } else if constexpr (primitive == Primitive::kPow) {
    return powf(a, b);
  } else if constexpr (primitive == Primitive::kSigmoid) {
    return 1.0F / (1.0F + expf(-a));
  } else {
    return primitives::Function<primitive, float>()(a, b);
  }
}

// Codes of `wanted` arguments.
template <int wanted>
__device__ __forceinline__ float ApplyCode(ChainCode code, float a, float b) {
  switch (code) {
    case ChainCode::kRoundToF16:
      return Rounded<Half>(a);
    case ChainCode::kRoundToBF16:
      return Rounded<BHalf>(a);
#define PRIMITIVE(name, arity, ...)                                  \
  case ChainCode::k##name:                                           \
    if constexpr (arity == wanted && IsInChains(Primitive::k##name)) \
      return ChainFunction<Primitive::k##name>(a, b);                \
    return a;
#include "runtime/ops/primitives.inc"
    default:
      return a;
  }
}

// The state of a thread that runs a chain.
class ChainRunner {
 public:
  __device__ __forceinline__ ChainRunner(const ChainProgram& program, const ChainValues& first)
      : program_(program) {
#pragma unroll
    for (int r = 0; r < kChainRegisters; ++r) registers_[r] = first;
  }

  // valid: lanes that are elements; held: lanes that lie in memory, the padding among which is
  // written as zero. `along_columns`: lanes are neighbours along the width.
  __device__ __forceinline__ void Run(int segment, const ChainPlace& at, int valid, int held,
                                      bool along_columns, const ChainPrefetch& prefetch) {
    const ChainProgram::Segment range = program_.segments[segment];
#pragma unroll 1
    for (int i = range.begin; i < range.end; ++i) {
      const ChainStep step = program_.steps[i];
      if (step.code == ChainCode::kLoad) {
        const ChainTensor& t = program_.operands[step.args[0]];
        if (step.args[0] == prefetch.operand) {
          Write(step.to, prefetch.values);
        } else {
          Write(step.to,
                LoadLanes(t, OffsetOf(t, at), along_columns ? t.column : t.channel, valid));
        }
      } else if (step.code == ChainCode::kStore) {
        const ChainTensor& t = program_.outputs[step.args[1]];
        ChainValues values = Read(step.args[0]);
#pragma unroll
        for (int lane = 0; lane < kChainLanes; ++lane) {
          if (lane >= valid) values.at[lane] = 0;
        }
        StoreLanes(t, OffsetOf(t, at), along_columns ? t.column : t.channel, held, values);
      } else {
        Write(step.to, Apply(step));
      }
    }
  }

  __device__ __forceinline__ const ChainValues& result() const { return registers_[0]; }

 private:
  __device__ __forceinline__ ChainValues Read(int from) const {
    ChainValues values;
    const float constant = from < kChainRegisters ? 0 : program_.constants[from - kChainRegisters];
#pragma unroll
    for (int lane = 0; lane < kChainLanes; ++lane) {
      values.at[lane] = constant;
#pragma unroll
      for (int r = 0; r < kChainRegisters; ++r) {
        if (from == r) values.at[lane] = registers_[r].at[lane];
      }
    }
    return values;
  }

  __device__ __forceinline__ void Write(int to, const ChainValues& values) {
#pragma unroll
    for (int r = 0; r < kChainRegisters; ++r) {
      if (to == r) registers_[r] = values;
    }
  }

  __device__ __forceinline__ ChainValues Apply(const ChainStep& step) const {
    ChainValues a = Read(step.args[0]);
    constexpr ChainCode kFirstOfTwo = CodeOf<ChainCode>(FirstOfTwoArguments());
    if (step.code < kFirstOfTwo) {
      ApplyToAll(step.code, a);
      return a;
    }
    const ChainValues b = Read(step.args[1]);
    if (step.code == ChainCode::kSelect) {
      const ChainValues c = Read(step.args[2]);
#pragma unroll
      for (int i = 0; i < kChainLanes; ++i) a.at[i] = a.at[i] != 0 ? b.at[i] : c.at[i];
      return a;
    }
    // The three of most networks come before the table of branches of the others.
    if (step.code == ChainCode::kAdd) {
#pragma unroll
      for (int i = 0; i < kChainLanes; ++i) a.at[i] += b.at[i];
    } else if (step.code == ChainCode::kMax) {
#pragma unroll
      for (int i = 0; i < kChainLanes; ++i)
        a.at[i] = ChainFunction<Primitive::kMax>(a.at[i], b.at[i]);
    } else if (step.code == ChainCode::kMul) {
#pragma unroll
      for (int i = 0; i < kChainLanes; ++i) a.at[i] *= b.at[i];
    } else {
      ApplyToBoth(step.code, a, b);
    }
    return a;
  }

  static __device__ __forceinline__ void ApplyToAll(ChainCode code, ChainValues& a) {
    Rotate(
        a, [code](float x, float) { return ApplyCode<1>(code, x, x); }, a);
  }
  static __device__ __forceinline__ void ApplyToBoth(ChainCode code, ChainValues& a,
                                                     const ChainValues& b) {
    Rotate(
        a, [code](float x, float y) { return ApplyCode<2>(code, x, y); }, b);
  }

  // a[i] = f(a[i], b[i]) with one copy of the code of f: the loop rotates the lanes through lane 0.
  template <typename F>
  static __device__ __forceinline__ void Rotate(ChainValues& a, F&& f, ChainValues b) {
#pragma unroll 1
    for (int i = 0; i < kChainLanes; ++i) {
      const float done = f(a.at[0], b.at[0]);
#pragma unroll
      for (int lane = 0; lane + 1 < kChainLanes; ++lane) {
        a.at[lane] = a.at[lane + 1];
        b.at[lane] = b.at[lane + 1];
      }
      a.at[kChainLanes - 1] = done;
    }
  }

  const ChainProgram& program_;
  ChainValues registers_[kChainRegisters];
};

}  // namespace onnx_cudnn

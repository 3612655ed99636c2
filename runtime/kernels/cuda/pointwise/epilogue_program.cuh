// Interprets an EpilogueProgram for four adjacent lanes of a thread. Branches are uniform: all
// threads are at the same step. Registers are selected, never indexed, so that they are not spilled
// to memory.
#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/pointwise/epilogue_program.h"
#include "runtime/kernels/cuda/pointwise/primitives.cuh"

namespace onnx_cudnn {

inline constexpr int kEpilogueLanes = 4;

struct EpilogueValues {
  float at[kEpilogueLanes];
};

// Position of lane 0 of a thread. Lanes are along channels, or along columns.
struct EpiloguePlace {
  int64_t image;
  int channel, depth, row, column;
};

// Lanes of an operand that the kernel has prefetched; operand < 0: none.
struct EpiloguePrefetch {
  int operand = -1;
  EpilogueValues values;
};

__device__ __forceinline__ int64_t OffsetOf(const EpilogueTensor& t, const EpiloguePlace& at) {
  return at.image * t.image + at.channel * t.channel + at.depth * t.depth + at.row * t.row +
         at.column * t.column;
}

template <typename E>
__device__ __forceinline__ EpilogueValues LoadFour(const void* data, int64_t offset) {
  const Vector<E, kEpilogueLanes> four =
      LoadVector<kEpilogueLanes>(static_cast<const E*>(data) + offset);
  EpilogueValues values;
#pragma unroll
  for (int i = 0; i < kEpilogueLanes; ++i) values.at[i] = Widen<float>(four[i]);
  return values;
}

// Loads lanes [0, valid) of a tensor; other lanes are 0. `step`: between lanes, in elements.
__device__ __forceinline__ EpilogueValues LoadLanes(const EpilogueTensor& t, int64_t offset,
                                                    int64_t step, int valid) {
  if (t.aligned && valid == kEpilogueLanes) {
    if (t.dtype == DType::kF16) return LoadFour<Half>(t.data, offset);
    if (t.dtype == DType::kBF16) return LoadFour<BHalf>(t.data, offset);
    if (t.dtype == DType::kF32) return LoadFour<float>(t.data, offset);
  }
  EpilogueValues values;
#pragma unroll
  for (int i = 0; i < kEpilogueLanes; ++i) {
    values.at[i] = i < valid ? LoadNumber<float>(t.dtype, t.data, offset + i * step) : 0;
  }
  return values;
}

template <typename E>
__device__ __forceinline__ void StoreFour(void* data, int64_t offset,
                                          const EpilogueValues& values) {
  Vector<E, kEpilogueLanes> four;
#pragma unroll
  for (int i = 0; i < kEpilogueLanes; ++i) four[i] = Narrow<E>(values.at[i]);
  StoreVector(static_cast<E*>(data) + offset, four);
}

template <typename E>
__device__ __forceinline__ void StoreSome(void* data, int64_t offset, int64_t step, int count,
                                          const EpilogueValues& values) {
#pragma unroll
  for (int i = 0; i < kEpilogueLanes; ++i) {
    if (i < count) static_cast<E*>(data)[offset + i * step] = Narrow<E>(values.at[i]);
  }
}

// Stores lanes [0, count) to an output of f32, f16, bf16 or bool.
__device__ __forceinline__ void StoreLanes(const EpilogueTensor& t, int64_t offset, int64_t step,
                                           int count, const EpilogueValues& values) {
  const bool whole = t.aligned && count == kEpilogueLanes;
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

// primitive(a, b), with less code than primitives::Function for some primitives.
template <Primitive primitive>
__device__ __forceinline__ float EpilogueFunction(float a, float b) {
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

// Applies codes with `wanted` arguments.
template <int wanted>
__device__ __forceinline__ float ApplyCode(EpilogueCode code, float a, float b) {
  switch (code) {
    case EpilogueCode::kRoundToF16:
      return Rounded<Half>(a);
    case EpilogueCode::kRoundToBF16:
      return Rounded<BHalf>(a);
#define PRIMITIVE(name, arity, ...)                                     \
  case EpilogueCode::k##name:                                           \
    if constexpr (arity == wanted && IsInEpilogues(Primitive::k##name)) \
      return EpilogueFunction<Primitive::k##name>(a, b);                \
    return a;
#include "runtime/ops/primitives.inc"
    default:
      return a;
  }
}

// The state of a thread that runs an epilogue program.
class EpilogueRunner {
 public:
  __device__ __forceinline__ EpilogueRunner(const EpilogueProgram& program,
                                            const EpilogueValues& first)
      : program_(program) {
#pragma unroll
    for (int r = 0; r < kEpilogueRegisters; ++r) registers_[r] = first;
  }

  // valid: lanes with elements; held: lanes that exist in memory (padding is written as zero).
  // `along_columns`: lanes are adjacent along the width.
  __device__ __forceinline__ void Run(int segment, const EpiloguePlace& at, int valid, int held,
                                      bool along_columns, const EpiloguePrefetch& prefetch) {
    const EpilogueProgram::Segment range = program_.segments[segment];
#pragma unroll 1
    for (int i = range.begin; i < range.end; ++i) {
      const EpilogueStep step = program_.steps[i];
      if (step.code == EpilogueCode::kLoad) {
        const EpilogueTensor& t = program_.operands[step.args[0]];
        if (step.args[0] == prefetch.operand) {
          Write(step.to, prefetch.values);
        } else {
          Write(step.to,
                LoadLanes(t, OffsetOf(t, at), along_columns ? t.column : t.channel, valid));
        }
      } else if (step.code == EpilogueCode::kStore) {
        const EpilogueTensor& t = program_.outputs[step.args[1]];
        EpilogueValues values = Read(step.args[0]);
#pragma unroll
        for (int lane = 0; lane < kEpilogueLanes; ++lane) {
          if (lane >= valid) values.at[lane] = 0;
        }
        StoreLanes(t, OffsetOf(t, at), along_columns ? t.column : t.channel, held, values);
      } else {
        Write(step.to, Apply(step));
      }
    }
  }

  __device__ __forceinline__ const EpilogueValues& result() const { return registers_[0]; }

 private:
  __device__ __forceinline__ EpilogueValues Read(int from) const {
    EpilogueValues values;
    const float constant =
        from < kEpilogueRegisters ? 0 : program_.constants[from - kEpilogueRegisters];
#pragma unroll
    for (int lane = 0; lane < kEpilogueLanes; ++lane) {
      values.at[lane] = constant;
#pragma unroll
      for (int r = 0; r < kEpilogueRegisters; ++r) {
        if (from == r) values.at[lane] = registers_[r].at[lane];
      }
    }
    return values;
  }

  __device__ __forceinline__ void Write(int to, const EpilogueValues& values) {
#pragma unroll
    for (int r = 0; r < kEpilogueRegisters; ++r) {
      if (to == r) registers_[r] = values;
    }
  }

  __device__ __forceinline__ EpilogueValues Apply(const EpilogueStep& step) const {
    EpilogueValues a = Read(step.args[0]);
    constexpr EpilogueCode kFirstOfTwo = CodeOf<EpilogueCode>(FirstOfTwoArguments());
    if (step.code < kFirstOfTwo) {
      ApplyToAll(step.code, a);
      return a;
    }
    const EpilogueValues b = Read(step.args[1]);
    if (step.code == EpilogueCode::kSelect) {
      const EpilogueValues c = Read(step.args[2]);
#pragma unroll
      for (int i = 0; i < kEpilogueLanes; ++i) a.at[i] = a.at[i] != 0 ? b.at[i] : c.at[i];
      return a;
    }
    // Tests the three most frequent codes before the branch table.
    if (step.code == EpilogueCode::kAdd) {
#pragma unroll
      for (int i = 0; i < kEpilogueLanes; ++i) a.at[i] += b.at[i];
    } else if (step.code == EpilogueCode::kMax) {
#pragma unroll
      for (int i = 0; i < kEpilogueLanes; ++i)
        a.at[i] = EpilogueFunction<Primitive::kMax>(a.at[i], b.at[i]);
    } else if (step.code == EpilogueCode::kMul) {
#pragma unroll
      for (int i = 0; i < kEpilogueLanes; ++i) a.at[i] *= b.at[i];
    } else {
      ApplyToBoth(step.code, a, b);
    }
    return a;
  }

  static __device__ __forceinline__ void ApplyToAll(EpilogueCode code, EpilogueValues& a) {
    Rotate(
        a, [code](float x, float) { return ApplyCode<1>(code, x, x); }, a);
  }
  static __device__ __forceinline__ void ApplyToBoth(EpilogueCode code, EpilogueValues& a,
                                                     const EpilogueValues& b) {
    Rotate(
        a, [code](float x, float y) { return ApplyCode<2>(code, x, y); }, b);
  }

  // a[i] = f(a[i], b[i]) with one copy of the code of f: the loop rotates the lanes through lane 0.
  template <typename F>
  static __device__ __forceinline__ void Rotate(EpilogueValues& a, F&& f, EpilogueValues b) {
#pragma unroll 1
    for (int i = 0; i < kEpilogueLanes; ++i) {
      const float done = f(a.at[0], b.at[0]);
#pragma unroll
      for (int lane = 0; lane + 1 < kEpilogueLanes; ++lane) {
        a.at[lane] = a.at[lane + 1];
        b.at[lane] = b.at[lane + 1];
      }
      a.at[kEpilogueLanes - 1] = done;
    }
  }

  const EpilogueProgram& program_;
  EpilogueValues registers_[kEpilogueRegisters];
};

}  // namespace onnx_cudnn

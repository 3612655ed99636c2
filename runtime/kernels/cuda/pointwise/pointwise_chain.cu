// Chains of element-wise ops. Every thread takes a few vectors of lanes and runs the program once
// for all of them: what a step does is asked once, and the next operand is on its way meanwhile.
#include "runtime/kernels/cuda/pointwise/pointwise_chain.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/packed.cuh"
#include "runtime/kernels/cuda/pointwise/pointwise_codes.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerProcessor = 4;  // with fewer blocks each thread takes one vector
constexpr int kWords = kVectorBytes / 4;

// Numbers of f32; tensors hold elements E.
template <typename E>
struct Numbers {
  using Element = E;
  using Cell = float;
  static constexpr int kCellsPerWord = 4 / static_cast<int>(sizeof(E));

  static __device__ __forceinline__ void Read(uint32_t word, Cell* cells) {
    Vector<E, kCellsPerWord> elements;
    memcpy(&elements, &word, sizeof(word));
    float numbers[kCellsPerWord];
    WidenAll(elements, numbers);
#pragma unroll
    for (int i = 0; i < kCellsPerWord; ++i) cells[i] = numbers[i];
  }
  static __device__ __forceinline__ uint32_t Write(const Cell* cells) {
    float numbers[kCellsPerWord];
#pragma unroll
    for (int i = 0; i < kCellsPerWord; ++i) numbers[i] = cells[i];
    const Vector<E, kCellsPerWord> elements = NarrowAll<E>(numbers);
    uint32_t word;
    memcpy(&word, &elements, sizeof(word));
    return word;
  }
  static __device__ __forceinline__ Cell Of(float number) { return number; }

  static __device__ __forceinline__ Cell Sum(Cell a, Cell b) { return a + b; }
  static __device__ __forceinline__ Cell Difference(Cell a, Cell b) { return a - b; }
  static __device__ __forceinline__ Cell Product(Cell a, Cell b) { return a * b; }
  static __device__ __forceinline__ Cell Larger(Cell a, Cell b) { return Maximum(a, b); }
  static __device__ __forceinline__ Cell Smaller(Cell a, Cell b) { return Minimum(a, b); }
  static __device__ __forceinline__ Cell Negative(Cell a) { return -a; }
  static __device__ __forceinline__ Cell Magnitude(Cell a) { return fabsf(a); }
  template <typename F>
  static __device__ __forceinline__ Cell Each(Cell a, F f) {
    return f(a);
  }
  template <typename F>
  static __device__ __forceinline__ Cell Each(Cell a, Cell b, F f) {
    return f(a, b);
  }
};

// Two elements of 16 bits in a register. Sums and products of f32 that are rounded to them are
// theirs: f32 has more than twice their digits and two.
template <typename E>
struct Pairs {
  using Element = E;
  using Cell = uint32_t;
  using Pair = std::conditional_t<std::is_same_v<E, Half>, __half2, __nv_bfloat162>;
  static constexpr int kCellsPerWord = 1;

  static __device__ __forceinline__ void Read(uint32_t word, Cell* cells) { *cells = word; }
  static __device__ __forceinline__ uint32_t Write(const Cell* cells) { return *cells; }
  static __device__ __forceinline__ Cell Of(float number) {
    const float both[2] = {number, number};
    return Numbers<E>::Write(both);
  }

  static __device__ __forceinline__ Pair Open(Cell cell) {
    Pair pair;
    memcpy(&pair, &cell, sizeof(pair));
    return pair;
  }
  static __device__ __forceinline__ Cell Close(Pair pair) {
    Cell cell;
    memcpy(&cell, &pair, sizeof(cell));
    return cell;
  }
  static __device__ __forceinline__ Cell Sum(Cell a, Cell b) {
    return Close(__hadd2_rn(Open(a), Open(b)));
  }
  static __device__ __forceinline__ Cell Difference(Cell a, Cell b) {
    return Close(__hsub2_rn(Open(a), Open(b)));
  }
  static __device__ __forceinline__ Cell Product(Cell a, Cell b) {
    return Close(__hmul2_rn(Open(a), Open(b)));
  }
  static __device__ __forceinline__ Cell Larger(Cell a, Cell b) {
    return Close(__hmax2_nan(Open(a), Open(b)));
  }
  static __device__ __forceinline__ Cell Smaller(Cell a, Cell b) {
    return Close(__hmin2_nan(Open(a), Open(b)));
  }
  static __device__ __forceinline__ Cell Negative(Cell a) { return a ^ 0x80008000u; }
  static __device__ __forceinline__ Cell Magnitude(Cell a) { return a & 0x7fff7fffu; }
  template <typename F>
  static __device__ __forceinline__ Cell Each(Cell a, F f) {
    float x[2];
    Numbers<E>::Read(a, x);
    const float made[2] = {f(x[0]), f(x[1])};
    return Numbers<E>::Write(made);
  }
  template <typename F>
  static __device__ __forceinline__ Cell Each(Cell a, Cell b, F f) {
    float x[2], y[2];
    Numbers<E>::Read(a, x);
    Numbers<E>::Read(b, y);
    const float made[2] = {f(x[0], y[0]), f(x[1], y[1])};
    return Numbers<E>::Write(made);
  }
};

// Keeps a branch a branch: where all threads go one way, selects on every lane cost more.
__device__ __forceinline__ void StayBranch() { asm volatile("" ::: "memory"); }

template <typename T, int n>
__device__ __forceinline__ void CopyTo(T (&to)[n], const T (&from)[n]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < n; ++i) to[i] = from[i];
}

// a[i] = code(a[i], b(i)).
template <typename A, int n, typename B>
__device__ __forceinline__ void Join(PointwiseCode code, typename A::Cell (&a)[n], B b) {
  using Code = PointwiseCode;
  using Cell = typename A::Cell;
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i], b(i));
  };
  switch (code) {
    case Code::kAdd:
      return map([](Cell x, Cell y) { return A::Sum(x, y); });
    case Code::kMul:
      return map([](Cell x, Cell y) { return A::Product(x, y); });
    case Code::kMax:
      return map([](Cell x, Cell y) { return A::Larger(x, y); });
    case Code::kMin:
      return map([](Cell x, Cell y) { return A::Smaller(x, y); });
    case Code::kSub:
      return map([](Cell x, Cell y) { return A::Difference(x, y); });
    case Code::kSubReversed:
      return map([](Cell x, Cell y) { return A::Difference(y, x); });
    case Code::kDiv:
      return map(
          [](Cell x, Cell y) { return A::Each(x, y, [](float p, float q) { return p / q; }); });
    case Code::kDivReversed:
      return map(
          [](Cell x, Cell y) { return A::Each(y, x, [](float p, float q) { return p / q; }); });
    case Code::kMove:
      StayBranch();
      return map([](Cell, Cell y) { return y; });
    default:
      return;
  }
}

// a[i] = code(a[i]).
template <typename A, int n>
__device__ __forceinline__ void Activate(PointwiseCode code, float number,
                                         typename A::Cell (&a)[n]) {
  using Code = PointwiseCode;
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i]);
  };
  const auto each = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = A::Each(a[i], f);
  };
  switch (code) {
    case Code::kNeg:
      return map([](auto x) { return A::Negative(x); });
    case Code::kAbs:
      return map([](auto x) { return A::Magnitude(x); });
    case Code::kSigmoid:
      return each([](float x) { return SigmoidOf(x); });
    case Code::kLeaky:
      return each([=](float x) { return x < 0.0F ? x * number : x; });
    case Code::kSqrt:
      return each([](float x) { return sqrt(x); });
    case Code::kExp:
      return each([](float x) { return exp(x); });
    case Code::kTanh:
      return each([](float x) { return tanh(x); });
    case Code::kErf:
      return each([](float x) { return erf(x); });
    default:
      return;  // kConvert
  }
}

// The lanes of a thread: kThreads vectors lie between its vectors.
struct Place {
  uint32_t lane;   // the first
  uint32_t lanes;  // of the tensors
  bool is_whole;   // the block has all its lanes
};

// An element for each lane of the vector at `words`.
template <typename E, typename At>
__device__ __forceinline__ void Gather(const E* from, uint32_t* words, At at) {
  Vector<E, ChainVector(sizeof(E))> elements;
#pragma unroll
  for (int i = 0; i < ChainVector(sizeof(E)); ++i) elements[i] = from[at(static_cast<uint32_t>(i))];
  memcpy(words, &elements, sizeof(elements));
}

template <typename E>
__device__ __forceinline__ void LoadWords(const E* from, uint32_t* words) {
  const Vector<uint32_t, kWords> vector =
      LoadVector<kWords>(reinterpret_cast<const uint32_t*>(from));
#pragma unroll
  for (int w = 0; w < kWords; ++w) words[w] = vector[w];
}

template <typename E>
__device__ __forceinline__ uint32_t Repeated(E element) {
  Vector<E, 4 / sizeof(E)> same;
#pragma unroll
  for (int i = 0; i < static_cast<int>(4 / sizeof(E)); ++i) same[i] = element;
  uint32_t word;
  memcpy(&word, &same, sizeof(word));
  return word;
}

// Lanes beyond the end get elements too, whichever. kWhole: all vectors are whole, nothing is
// kGathered.
template <typename E, int vectors, bool kWhole>
__device__ __forceinline__ void Load(const ChainOperand& operand, const Place& place,
                                     uint32_t (&words)[vectors * kWords]) {
  constexpr uint32_t kVector = ChainVector(sizeof(E)), kStep = kThreads * kVector;
  const E* data = static_cast<const E*>(operand.data);
  const uint32_t last = (place.lanes - 1) / kVector * kVector;  // a vector's first lane
  const auto lane_of = [&](int k) { return min(place.lane + k * kStep, last); };
  switch (operand.access) {
    case ChainAccess::kFull:
#pragma unroll
      for (int k = 0; k < vectors; ++k) {
        if (kWhole || place.is_whole) {
          LoadWords(data + lane_of(k), words + k * kWords);
        } else {
          Gather(data, words + k * kWords,
                 [&](uint32_t i) { return min(lane_of(k) + i, place.lanes - 1); });
        }
      }
      return;
    case ChainAccess::kRun:
#pragma unroll
      for (int k = 0; k < vectors; ++k) {
        LoadWords(data + operand.period.Modulo(lane_of(k)), words + k * kWords);
      }
      return;
    case ChainAccess::kRepeated: {
      E elements[vectors];
#pragma unroll
      for (int k = 0; k < vectors; ++k) {
        elements[k] = data[operand.period.Modulo(operand.inner.Divide(lane_of(k)))];
      }
#pragma unroll
      for (int w = 0; w < vectors * kWords; ++w) words[w] = Repeated(elements[w / kWords]);
      return;
    }
    case ChainAccess::kGathered:
      if constexpr (!kWhole) {
#pragma unroll
        for (int k = 0; k < vectors; ++k) {
          Gather(data, words + k * kWords, [&](uint32_t i) {
            return operand.period.Modulo(operand.inner.Divide(lane_of(k) + i));
          });
        }
      }
  }
}

template <typename A, int n, int words>
__device__ __forceinline__ void ReadAll(const uint32_t (&from)[words],
                                        typename A::Cell (&cells)[n]) {
#pragma unroll
  for (int w = 0; w < words; ++w) A::Read(from[w], cells + w * A::kCellsPerWord);
}
template <typename A, int n, int words>
__device__ __forceinline__ void WriteAll(const typename A::Cell (&cells)[n],
                                         uint32_t (&to)[words]) {
#pragma unroll
  for (int w = 0; w < words; ++w) to[w] = A::Write(cells + w * A::kCellsPerWord);
}

template <typename E, int vectors, bool kWhole>
__device__ __forceinline__ void Store(void* output, const Place& place,
                                      const uint32_t (&words)[vectors * kWords]) {
  constexpr uint32_t kVector = ChainVector(sizeof(E)), kStep = kThreads * kVector;
  E* to = static_cast<E*>(output);
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
    const uint32_t lane = place.lane + k * kStep;
    Vector<uint32_t, kWords> vector;
#pragma unroll
    for (int w = 0; w < kWords; ++w) vector[w] = words[k * kWords + w];
    if (place.is_whole || lane + kVector <= place.lanes) {
      StoreVector(reinterpret_cast<uint32_t*>(to + lane), vector);
      continue;
    }
    if constexpr (!kWhole) {
      Vector<E, kVector> elements;
      memcpy(&elements, &vector, sizeof(elements));
#pragma unroll
      for (uint32_t i = 0; i < kVector; ++i) {
        if (lane + i < place.lanes) to[lane + i] = elements[i];
      }
    }
  }
}

// Operands are loaded two reads ahead.
template <typename A, int vectors, bool kWhole>
__global__ void __launch_bounds__(kThreads, 4) RunChain(const __grid_constant__ ChainParameters p) {
  WaitForLaunchBefore();
  using E = typename A::Element;
  using Cell = typename A::Cell;
  constexpr uint32_t kVector = ChainVector(sizeof(E)), kBlock = vectors * kThreads * kVector;
  constexpr int kLoaded = vectors * kWords, kCells = kLoaded * A::kCellsPerWord;
  const uint32_t start = blockIdx.x * kBlock, lanes = static_cast<uint32_t>(p.lanes);
  const Place place = {start + threadIdx.x * kVector, lanes, lanes - start >= kBlock};

  uint32_t words[kLoaded], ahead[kLoaded] = {}, later[kLoaded] = {};
  Load<E, vectors, kWhole>(p.operands[0], place, words);
  if (p.reads > 1) Load<E, vectors, kWhole>(p.operands[1], place, ahead);
  if (p.reads > 2) Load<E, vectors, kWhole>(p.operands[2], place, later);
  int next = 3;
  Cell a[kCells], saved[kCells] = {};
  ReadAll<A>(words, a);
  for (int at = 0; at < p.steps; ++at) {
    const uint64_t word = p.program[at];
    AccumulatorStep step;
    memcpy(&step, &word, sizeof(step));
    if (step.code == PointwiseCode::kStore) {
      WriteAll<A>(a, words);
      Store<E, vectors, kWhole>(p.outputs[step.output], place, words);
      continue;
    }
    if (step.source == PointwiseSource::kOperand) {
      Cell b[kCells];
      ReadAll<A>(ahead, b);
      Join<A>(step.code, a, [&](int i) { return b[i]; });
      if (next <= p.reads) CopyTo(ahead, later);
      if (next < p.reads) Load<E, vectors, kWhole>(p.operands[next], place, later);
      ++next;
    } else if (step.source == PointwiseSource::kRegister) {
      Join<A>(step.code, a, [&](int i) { return saved[i]; });
    } else if (step.source == PointwiseSource::kNumber) {
      const Cell number = A::Of(step.number);
      Join<A>(step.code, a, [&](int) { return number; });
    } else {
      Activate<A>(step.code, step.number, a);
    }
    if constexpr (A::kCellsPerWord > 1) {
      if (step.rounds) {
        WriteAll<A>(a, words);
        ReadAll<A>(words, a);
      }
    }
    if (step.saves) CopyTo(saved, a);
  }
}

template <typename A, int vectors, bool kWhole>
KernelCall CallWith(const ChainParameters& p) {
  constexpr int64_t kLanes = vectors * kThreads * ChainVector(sizeof(typename A::Element));
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>((p.lanes + kLanes - 1) / kLanes);
  shape.block.x = kThreads;
  return KernelCall::Of(RunChain<A, vectors, kWhole>, shape, p);
}

// Two vectors of a thread decode each step half as often, where registers hold their cells.
template <typename A>
KernelCall CallOf(int multiprocessors, const ChainParameters& p) {
  if constexpr (A::kCellsPerWord == 1) {
    constexpr int kVector = ChainVector(sizeof(typename A::Element));
    const bool is_large =
        p.lanes >= int64_t{multiprocessors} * kBlocksPerProcessor * kThreads * 2 * kVector;
    const bool gathers = std::any_of(p.operands, p.operands + p.reads, [](const ChainOperand& o) {
      return o.access == ChainAccess::kGathered;
    });
    if (is_large && !gathers && p.lanes % kVector == 0) return CallWith<A, 2, true>(p);
  }
  return CallWith<A, 1, false>(p);
}

}  // namespace

KernelCall ChainCall(DType dtype, ChainArithmetic arithmetic, int multiprocessors,
                     const ChainParameters& parameters) {
  const bool in_pairs = arithmetic == ChainArithmetic::kPairs;
  switch (dtype) {
    case DType::kF16:
      return in_pairs ? CallOf<Pairs<Half>>(multiprocessors, parameters)
                      : CallOf<Numbers<Half>>(multiprocessors, parameters);
    case DType::kBF16:
      return in_pairs ? CallOf<Pairs<BHalf>>(multiprocessors, parameters)
                      : CallOf<Numbers<BHalf>>(multiprocessors, parameters);
    default:
      return CallOf<Numbers<float>>(multiprocessors, parameters);
  }
}

}  // namespace onnx_cudnn

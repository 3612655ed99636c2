// Chains of element-wise ops. A thread runs the program once for its one or two vectors, so that
// each step is decoded once, and prefetches the next operands meanwhile.
#include "runtime/kernels/cuda/pointwise/pointwise_chain.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = kArithmeticThreads;
constexpr int kBlocksPerProcessor = 4;  // with fewer blocks, a thread has one vector
constexpr int kWords = kVectorBytes / 4;

template <typename T, int n>
__device__ __forceinline__ void CopyTo(T (&to)[n], const T (&from)[n]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < n; ++i) to[i] = from[i];
}

// The lanes of a thread; its vectors are kThreads vectors apart.
struct Place {
  uint32_t lane;   // the first one
  uint32_t lanes;  // number of lanes of the tensors
  bool is_whole;   // all lanes of the block exist
};

// words = from[at(lane)] for the lanes of one vector.
template <typename E, typename At>
__device__ __forceinline__ void Gather(const E* from, uint32_t* words, At at) {
  Vector<E, VectorLanes(sizeof(E))> elements;
#pragma unroll
  for (int i = 0; i < VectorLanes(sizeof(E)); ++i) elements[i] = from[at(static_cast<uint32_t>(i))];
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

// Lanes beyond the end get arbitrary elements. kWhole: all vectors are complete and no operand is
// kGathered.
template <typename E, int vectors, bool kWhole>
__device__ __forceinline__ void Load(const ChainOperand& operand, const Place& place,
                                     uint32_t (&words)[vectors * kWords]) {
  constexpr uint32_t kVector = VectorLanes(sizeof(E)), kStep = kThreads * kVector;
  const E* data = static_cast<const E*>(operand.data);
  const uint32_t last = (place.lanes - 1) / kVector * kVector;  // first lane of the last vector
  const auto lane_of = [&](int k) { return min(place.lane + k * kStep, last); };
  switch (operand.access) {
    case PointwiseAccess::kDirect:
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
    case PointwiseAccess::kRun:
#pragma unroll
      for (int k = 0; k < vectors; ++k) {
        LoadWords(data + operand.period.Modulo(lane_of(k)), words + k * kWords);
      }
      return;
    case PointwiseAccess::kRepeated: {
      E elements[vectors];
#pragma unroll
      for (int k = 0; k < vectors; ++k) {
        elements[k] = data[operand.period.Modulo(operand.inner.Divide(lane_of(k)))];
      }
#pragma unroll
      for (int w = 0; w < vectors * kWords; ++w) words[w] = Repeated(elements[w / kWords]);
      return;
    }
    case PointwiseAccess::kGathered:
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
  constexpr uint32_t kVector = VectorLanes(sizeof(E)), kStep = kThreads * kVector;
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
      if (lane < place.lanes) StorePresent(to + lane, elements, place.lanes - lane);
    }
  }
}

// Operands are loaded two reads ahead.
template <typename A, int vectors, bool kWhole>
__global__ void __launch_bounds__(kThreads, 4) RunChain(const __grid_constant__ ChainParameters p) {
  WaitForLaunchBefore();
  using E = typename A::Element;
  using Cell = typename A::Cell;
  constexpr uint32_t kVector = VectorLanes(sizeof(E)), kBlock = vectors * kThreads * kVector;
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
      Combine<A>(step.code, a, [&](int i) { return b[i]; });
      if (next <= p.reads) CopyTo(ahead, later);
      if (next < p.reads) Load<E, vectors, kWhole>(p.operands[next], place, later);
      ++next;
    } else if (step.source == PointwiseSource::kRegister) {
      Combine<A>(step.code, a, [&](int i) { return saved[i]; });
    } else if (step.source == PointwiseSource::kNumber) {
      const Cell number = A::Of(step.number);
      Combine<A>(step.code, a, [&](int) { return number; });
    } else {
      Change<A>(step.code, step.number, a);
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
  constexpr int kLanes = vectors * VectorLanes(sizeof(typename A::Element));
  return KernelCall::Of(RunChain<A, vectors, kWhole>, ShapeOf(p.lanes, kLanes), p);
}

// Two vectors halve the cost of decoding if there are registers for their cells.
template <typename A>
KernelCall CallOf(int multiprocessors, const ChainParameters& p) {
  if constexpr (A::kCellsPerWord == 1) {
    constexpr int kVector = VectorLanes(sizeof(typename A::Element));
    const bool is_large =
        p.lanes >= int64_t{multiprocessors} * kBlocksPerProcessor * kThreads * 2 * kVector;
    const bool gathers = std::any_of(p.operands, p.operands + p.reads, [](const ChainOperand& o) {
      return o.access == PointwiseAccess::kGathered;
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
      return in_pairs ? CallOf<PairCells<Half>>(multiprocessors, parameters)
                      : CallOf<FloatCells<Half>>(multiprocessors, parameters);
    case DType::kBF16:
      return in_pairs ? CallOf<PairCells<BHalf>>(multiprocessors, parameters)
                      : CallOf<FloatCells<BHalf>>(multiprocessors, parameters);
    default:
      return CallOf<FloatCells<float>>(multiprocessors, parameters);
  }
}

}  // namespace onnx_cudnn

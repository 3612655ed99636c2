#include "runtime/kernels/cuda/gemm/gemv_mma_weights.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/gemm/gemv_mma.h"

namespace onnx_cudnn {
namespace {

constexpr int kLanes = 32;
constexpr int kPairs = kGemvMmaTile / 2;  // of columns g and g + 8
constexpr int kRun = 8;                   // of K, that a lane has of each 32
constexpr int kRunsOfStep = kGemvMma4BitStep / kGemvMmaStep;

using Sources = absl::Span<const HostTensor>;

// Of all matrices.
int TilesOf(const GemvMmaMatrices& matrices) {
  return CeilDiv(matrices[0].columns, kGemvMmaTile) * static_cast<int>(matrices.size());
}

int64_t IndexOf(const GemvMmaMatrix& w, int64_t column, int64_t k) {
  return w.depth_is_inner ? column * w.depth + k : k * w.columns + column;
}

bool Has(const GemvMmaMatrix& w, int column, int k) { return column < w.columns && k < w.depth; }

// A 4-bit element as a number in 0 to 15.
uint32_t NibbleAt(const HostTensor& tensor, int64_t i) {
  const uint32_t byte = static_cast<const uint8_t*>(tensor.raw())[i / 2];
  const uint32_t nibble = byte >> (i % 2 * 4) & 15U;
  return tensor.dtype() == DType::kI4 ? nibble ^ 8U : nibble;
}

Derived Packed(const GemvMmaMatrices& matrices, std::string_view what, int64_t elements,
               const std::function<HostTensor(const GemvMmaMatrices&, Sources)>& make) {
  Derived packed = {
      .recipe = absl::StrCat(what, " of ", matrices[0].columns, " by ", matrices[0].depth),
      .to = Format::RowMajor({elements}),
      .make = [matrices, make](Sources sources) -> absl::StatusOr<HostTensor> {
        return make(matrices, sources);
      }};
  for (const GemvMmaMatrix& w : matrices) {
    packed.from.push_back(w.position);
    packed.recipe += w.depth_is_inner ? ", depth innermost" : ", columns innermost";
  }
  return packed;
}

HostTensor PackHalves(const GemvMmaMatrices& matrices, Sources sources) {
  const int tiles = TilesOf(matrices), count = static_cast<int>(matrices.size());
  const int steps = CeilDiv(matrices[0].depth, kGemvMmaStep);
  HostTensor made = HostTensor::Allocate(sources[0].dtype(),
                                         {int64_t{tiles} * steps * kGemvMmaTile * kGemvMmaStep});
  auto* to = static_cast<uint16_t*>(made.mutable_raw());
  for (int tile = 0; tile < tiles; ++tile) {
    const GemvMmaMatrix& w = matrices[tile % count];
    const auto* from = static_cast<const uint16_t*>(sources[tile % count].raw());
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < kGemvMmaTile * kGemvMmaStep; ++i) {
        const int piece = i / (kLanes * 8), lane = i / 8 % kLanes, word = i / 2 % 4;
        const int column = tile / count * kGemvMmaTile + lane / 4 + word % 2 * kPairs;
        const int k = step * kGemvMmaStep + lane % 4 * kRun + piece * 4 + word / 2 * 2 + i % 2;
        *to++ = Has(w, column, k) ? from[IndexOf(w, column, k)] : uint16_t{0};
      }
    }
  }
  return made;
}

// The eight elements of a column from index `first` of K on.
uint32_t WordOf(const GemvMmaMatrix& w, const HostTensor& source, int column, int first) {
  uint32_t word = 0;
  for (int i = 0; i < kRun; ++i) {
    if (!Has(w, column, first + i)) continue;
    word |= NibbleAt(source, IndexOf(w, column, first + i)) << (i / 2 * 4 + i % 2 * 16);
  }
  return word;
}

// Whole steps of gemv_4bit.cu.
int Steps4Bit(const GemvMmaMatrices& matrices) {
  return CeilDiv(matrices[0].depth, kGemv4BitStep) * (kGemv4BitStep / kGemvMma4BitStep);
}

HostTensor PackNibbles(const GemvMmaMatrices& matrices, Sources sources) {
  const int tiles = TilesOf(matrices), count = static_cast<int>(matrices.size());
  const int steps = Steps4Bit(matrices);
  HostTensor made = HostTensor::Allocate(DType::kU32, {int64_t{tiles} * steps * kLanes * 4});
  auto* to = static_cast<uint32_t*>(made.mutable_raw());
  for (int tile = 0; tile < tiles; ++tile) {
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < kLanes * kRunsOfStep * 2; ++i) {
        const int lane = i / 4, run = i / 2 % 2, upper = i % 2;
        const int column = tile / count * kGemvMmaTile + lane / 4 + upper * kPairs;
        const int k = step * kGemvMma4BitStep + run * kGemvMmaStep + lane % 4 * kRun;
        *to++ = WordOf(matrices[tile % count], sources[tile % count], column, k);
      }
    }
  }
  return made;
}

int64_t PairElements(const GemvMmaMatrices& m, const ScaleOrder& order) {
  return int64_t{TilesOf(m)} * order.steps * order.each * kGemvMmaTile;
}

// Writes `to`; `at(source, i)` is an element as an E.
template <typename E, typename F>
void PackPairs(const GemvMmaMatrices& matrices, Sources sources, const ScaleOrder& order,
               const F& at, E* to) {
  const int tiles = TilesOf(matrices), count = static_cast<int>(matrices.size());
  for (int tile = 0; tile < tiles; ++tile) {
    const GemvMmaMatrix& m = matrices[tile % count];
    const HostTensor& source = sources[tile % count];
    for (int step = 0; step < order.steps; ++step) {
      for (int i = 0; i < kGemvMmaTile * order.each; ++i) {
        const int pair = i / 2 / order.each, of_step = i / 2 % order.each;
        const int column = tile / count * kGemvMmaTile + pair + i % 2 * kPairs;
        const int block = (step * order.each + of_step) / order.repeats;
        *to++ =
            Has(m, column, block) ? static_cast<E>(at(source, IndexOf(m, column, block))) : E{0};
      }
    }
  }
}

HostTensor PackScales(const GemvMmaMatrices& m, Sources sources, const ScaleOrder& order) {
  HostTensor made = HostTensor::Allocate(sources[0].dtype(), {PairElements(m, order)});
  PackPairs(
      m, sources, order,
      [](const HostTensor& source, int64_t i) {
        return static_cast<const uint16_t*>(source.raw())[i];
      },
      static_cast<uint16_t*>(made.mutable_raw()));
  return made;
}

// The one zero point of all blocks, or kGemvZerosDiffer.
uint32_t CommonZero(const GemvMmaMatrices& m, Sources sources) {
  const uint32_t first = NibbleAt(sources[0], 0);
  for (const HostTensor& source : sources) {
    for (int64_t i = 0; i < int64_t{m[0].columns} * m[0].depth; ++i) {
      if (NibbleAt(source, i) != first) return kGemvZerosDiffer;
    }
  }
  return first;
}

HostTensor PackZeros(const GemvMmaMatrices& m, Sources sources, const ScaleOrder& order) {
  HostTensor made = HostTensor::Allocate(DType::kU8, {kGemvZerosHeader + PairElements(m, order)});
  auto* bytes = static_cast<uint8_t*>(made.mutable_raw());
  std::memset(bytes, 0, kGemvZerosHeader);
  const uint32_t common = CommonZero(m, sources);
  std::memcpy(bytes, &common, sizeof(common));
  PackPairs(m, sources, order, NibbleAt, bytes + kGemvZerosHeader);
  return made;
}

std::string NameOf(std::string_view what, const ScaleOrder& order) {
  return absl::StrCat(what, " in pairs, ", order.steps, " by ", order.each, ", each ",
                      order.repeats, " times,");
}

}  // namespace

Derived PackGemvMma(const GemvMmaMatrices& w) {
  const int64_t steps = CeilDiv(w[0].depth, kGemvMmaStep);
  return Packed(w, "operands of mma.sync", TilesOf(w) * steps * kGemvMmaTile * kGemvMmaStep,
                PackHalves);
}

Derived PackGemv4Bit(const GemvMmaMatrices& w) {
  return Packed(w, "4-bit operands of mma.sync in steps of 128",
                int64_t{TilesOf(w)} * Steps4Bit(w) * kLanes * 4, PackNibbles);
}

Derived PackGemvScales(const GemvMmaMatrices& m, const ScaleOrder& order) {
  return Packed(
      m, NameOf("scales", order), PairElements(m, order),
      [order](const GemvMmaMatrices& w, Sources sources) { return PackScales(w, sources, order); });
}

Derived PackGemvZeros(const GemvMmaMatrices& m, const ScaleOrder& order) {
  return Packed(
      m, NameOf("zero points", order), kGemvZerosHeader + PairElements(m, order),
      [order](const GemvMmaMatrices& w, Sources sources) { return PackZeros(w, sources, order); });
}

}  // namespace onnx_cudnn

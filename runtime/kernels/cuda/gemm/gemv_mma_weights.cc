#include "runtime/kernels/cuda/gemm/gemv_mma_weights.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/gemm/gemv_mma.h"

namespace onnx_cudnn {
namespace {

constexpr int kLanes = 32;
constexpr int kPairs = kGemvMmaTile / 2;  // of columns g and g + 8
constexpr int kRun = 8;                   // of K, that a lane has of each 32
constexpr int kRunsOfStep = kGemv4BitStep / kGemvMmaStep;

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
               HostTensor (*make)(const GemvMmaMatrices&, Sources)) {
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

HostTensor PackNibbles(const GemvMmaMatrices& matrices, Sources sources) {
  const int tiles = TilesOf(matrices), count = static_cast<int>(matrices.size());
  const int steps = CeilDiv(matrices[0].depth, kGemv4BitStep);
  HostTensor made = HostTensor::Allocate(DType::kU32, {int64_t{tiles} * steps * kLanes * 4});
  auto* to = static_cast<uint32_t*>(made.mutable_raw());
  for (int tile = 0; tile < tiles; ++tile) {
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < kLanes * kRunsOfStep * 2; ++i) {
        const int lane = i / 4, run = i / 2 % 2, upper = i % 2;
        const int column = tile / count * kGemvMmaTile + lane / 4 + upper * kPairs;
        const int k = step * kGemv4BitStep + run * kGemvMmaStep + lane % 4 * kRun;
        *to++ = WordOf(matrices[tile % count], sources[tile % count], column, k);
      }
    }
  }
  return made;
}

// `at(source, i)` is an element as an E.
template <typename E, typename F>
HostTensor PackPairs(const GemvMmaMatrices& matrices, Sources sources, DType dtype, const F& at) {
  const int tiles = TilesOf(matrices), count = static_cast<int>(matrices.size());
  HostTensor made =
      HostTensor::Allocate(dtype, {int64_t{tiles} * matrices[0].depth * kGemvMmaTile});
  auto* to = static_cast<E*>(made.mutable_raw());
  for (int tile = 0; tile < tiles; ++tile) {
    const GemvMmaMatrix& m = matrices[tile % count];
    const HostTensor& source = sources[tile % count];
    for (int block = 0; block < m.depth; ++block) {
      for (int i = 0; i < kGemvMmaTile; ++i) {
        const int column = tile / count * kGemvMmaTile + i / 2 + i % 2 * kPairs;
        *to++ = column < m.columns ? static_cast<E>(at(source, IndexOf(m, column, block))) : E{0};
      }
    }
  }
  return made;
}

HostTensor PackScales(const GemvMmaMatrices& matrices, Sources sources) {
  return PackPairs<uint16_t>(matrices, sources, sources[0].dtype(),
                             [](const HostTensor& source, int64_t i) {
                               return static_cast<const uint16_t*>(source.raw())[i];
                             });
}

HostTensor PackZeros(const GemvMmaMatrices& matrices, Sources sources) {
  return PackPairs<uint8_t>(matrices, sources, DType::kU8, NibbleAt);
}

}  // namespace

Derived PackGemvMma(const GemvMmaMatrices& w) {
  const int64_t steps = CeilDiv(w[0].depth, kGemvMmaStep);
  return Packed(w, "operands of mma.sync", TilesOf(w) * steps * kGemvMmaTile * kGemvMmaStep,
                PackHalves);
}

Derived PackGemv4Bit(const GemvMmaMatrices& w) {
  const int64_t steps = CeilDiv(w[0].depth, kGemv4BitStep);
  return Packed(w, "4-bit operands of mma.sync", TilesOf(w) * steps * kLanes * 4, PackNibbles);
}

Derived PackGemvScales(const GemvMmaMatrices& m) {
  return Packed(m, "scales in pairs", int64_t{TilesOf(m)} * m[0].depth * kGemvMmaTile, PackScales);
}

Derived PackGemvZeros(const GemvMmaMatrices& m) {
  return Packed(m, "zero points in pairs", int64_t{TilesOf(m)} * m[0].depth * kGemvMmaTile,
                PackZeros);
}

}  // namespace onnx_cudnn

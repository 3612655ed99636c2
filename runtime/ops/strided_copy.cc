#include "runtime/ops/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace onnx_cudnn {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;  // minimum per additional thread
// Elements; source and destination rows of a tile stay in L1.
constexpr int64_t kTransposeTile = 32;
constexpr int64_t kSmallRunBytes = 128;  // below this, a loop is faster than memcpy

// Drops axes of extent 1, and joins an axis with the next if both sides are contiguous across them.
std::vector<CopyAxis> Coalesce(const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> merged;
  for (const CopyAxis& axis : axes) {
    if (axis.extent == 1) continue;
    CopyAxis* outer = merged.empty() ? nullptr : &merged.back();
    if (outer != nullptr && outer->from == axis.from * axis.extent &&
        outer->to == axis.to * axis.extent) {
      *outer = {outer->extent * axis.extent, axis.from, axis.to};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

// Tracks the offsets of both sides while an index counts over some axes.
class Counter {
 public:
  Counter(absl::Span<const CopyAxis> axes, int64_t index) : axes_(axes), at_(axes.size()) {
    for (size_t a = axes.size(); a-- > 0; index /= axes[a].extent) {
      at_[a] = index % axes[a].extent;
      from += at_[a] * axes[a].from;
      to += at_[a] * axes[a].to;
    }
  }
  void Next() {
    for (size_t a = axes_.size(); a-- > 0;) {
      from += axes_[a].from;
      to += axes_[a].to;
      if (++at_[a] < axes_[a].extent) return;
      from -= axes_[a].extent * axes_[a].from;
      to -= axes_[a].extent * axes_[a].to;
      at_[a] = 0;
    }
  }
  int64_t from = 0, to = 0;

 private:
  absl::Span<const CopyAxis> axes_;
  std::vector<int64_t> at_;
};

template <typename E>
void CopyRun(const E* from, int64_t from_step, E* to, int64_t to_step, int64_t n) {
  if (to_step != 1) {
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  } else if (from_step == 0) {
    std::fill_n(to, n, *from);
  } else if (from_step != 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_step];
  } else if (n * static_cast<int64_t>(sizeof(E)) >= kSmallRunBytes) {
    std::memcpy(to, from, n * sizeof(E));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

// Copies rows `a` in [begin, end), contiguous in the source, and columns `b`, contiguous in the
// destination.
template <typename E>
void TransposeRows(const E* from, E* to, const CopyAxis& a, const CopyAxis& b, int64_t begin,
                   int64_t end) {
  for (int64_t b0 = 0; b0 < b.extent; b0 += kTransposeTile) {
    const int64_t b1 = std::min(b0 + kTransposeTile, b.extent);
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = b0; j < b1; ++j) to[i * a.to + j * b.to] = from[i * a.from + j * b.from];
    }
  }
}

// Copies along the innermost axis, or along it and the source's contiguous axis in tiles; a Counter
// iterates over the rest.
template <typename E>
void CopyTiled(const E* from, E* to, std::vector<CopyAxis> axes, ThreadPool& threads) {
  const CopyAxis inner = axes.back();
  axes.pop_back();
  const auto row =
      std::find_if(axes.begin(), axes.end(), [](const CopyAxis& axis) { return axis.from == 1; });
  const bool transposes = inner.from != 1 && inner.from != 0 && row != axes.end();
  const CopyAxis tiled = transposes ? *row : inner;
  if (transposes) axes.erase(row);
  const int64_t tile = transposes ? kTransposeTile : kGrainBytes / static_cast<int64_t>(sizeof(E));
  const int64_t tiles = (tiled.extent - 1) / tile + 1;
  int64_t outer = 1;
  for (const CopyAxis& axis : axes) outer *= axis.extent;
  const int64_t item_bytes =
      (transposes ? inner.extent * std::min(tile, tiled.extent) : std::min(tile, inner.extent)) *
      sizeof(E);
  threads.ParallelFor(
      outer * tiles, std::max<int64_t>(1, kGrainBytes / item_bytes), [&](int64_t i, int64_t end) {
        Counter at(axes, i / tiles);
        for (int64_t t = i % tiles; i < end; ++i) {
          const int64_t begin = t * tile, stop = std::min(begin + tile, tiled.extent);
          if (transposes) {
            TransposeRows(from + at.from, to + at.to, tiled, inner, begin, stop);
          } else {
            CopyRun(from + at.from + begin * inner.from, inner.from, to + at.to + begin * inner.to,
                    inner.to, stop - begin);
          }
          if (++t == tiles) {
            t = 0;
            at.Next();
          }
        }
      });
}

}  // namespace

void StridedCopy(const void* from, void* to, int element_bytes, std::vector<CopyAxis> axes,
                 ThreadPool& threads) {
  for (const CopyAxis& axis : axes) {
    if (axis.extent == 0) return;
  }
  axes = Coalesce(axes);
  if (axes.empty()) axes.push_back({1, 1, 1});
  VisitElementSize(element_bytes, [&](auto element) {
    using E = decltype(element);
    CopyTiled(static_cast<const E*>(from), static_cast<E*>(to), std::move(axes), threads);
  });
}

void CopyBytes(const void* from, void* to, int64_t bytes, ThreadPool& threads) {
  if (from != to) StridedCopy(from, to, 1, {{bytes, 1, 1}}, threads);
}

void FillElements(void* to, const void* element, int element_bytes, int64_t count,
                  ThreadPool& threads) {
  StridedCopy(element, to, element_bytes, {{count, 0, 1}}, threads);
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace onnx_cudnn

// Copies elements between two layouts of the same index space.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

// One axis of a copy; strides in elements. The source's may be negative or 0 (repeats an element).
struct CopyAxis {
  int64_t extent, from, to;
};

// to[Σ i·axis.to] = from[Σ i·axis.from] for all indices i of `axes`, outer to inner. Writes should
// be contiguous along the last axis. `element_bytes` is 1, 2, 4, 8 or 16; both sides are aligned to
// elements only.
void StridedCopy(const void* from, void* to, int element_bytes, std::vector<CopyAxis> axes,
                 ThreadPool& threads);

// A plain copy; uses several threads for large sizes.
void CopyBytes(const void* from, void* to, int64_t bytes, ThreadPool& threads);

// `count` copies of one element.
void FillElements(void* to, const void* element, int element_bytes, int64_t count,
                  ThreadPool& threads);

// Strides in elements of a dense row-major tensor.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims);

// An unsigned integer with the size of an element, for code that only moves it: calls f(uint8_t{}),
// f(uint16_t{}) ….
struct Element16 {
  uint64_t low, high;
};
template <typename F>
decltype(auto) VisitElementSize(int element_bytes, F&& f) {
  if (element_bytes == 1) return f(uint8_t{});
  if (element_bytes == 2) return f(uint16_t{});
  if (element_bytes == 4) return f(uint32_t{});
  if (element_bytes == 8) return f(uint64_t{});
  return f(Element16{});
}

}  // namespace onnx_cudnn

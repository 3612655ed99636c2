// Moving elements between two layouts of the same index space.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

// One axis of a copy; strides in elements, negative or 0 (the same element again) where it reads.
struct CopyAxis {
  int64_t extent, from, to;
};

// to[Σ i·axis.to] = from[Σ i·axis.from] for all indices i of `axes`, outer to inner. The last axis
// should be the one whose writes are contiguous. `element_bytes` is 1, 2, 4, 8 or 16; neither side
// needs alignment beyond an element's.
void StridedCopy(const void* from, void* to, int element_bytes, std::vector<CopyAxis> axes,
                 ThreadPool& threads);

// Bytes as they are, by several threads when there are many.
void CopyBytes(const void* from, void* to, int64_t bytes, ThreadPool& threads);

// `count` copies of one element.
void FillElements(void* to, const void* element, int element_bytes, int64_t count,
                  ThreadPool& threads);

// Strides in elements of a dense row-major tensor.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims);

// An unsigned integer of the size of an element, for what only moves it: calls f(uint8_t{}),
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

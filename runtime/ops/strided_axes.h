#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// Some axes of a row-major tensor: their extents and the distances of their steps in elements.
// Neighbouring axes that are one run of memory are merged.
class StridedAxes {
 public:
  void Add(int64_t extent, int64_t stride);  // from the outermost to the innermost

  int64_t count() const { return ElementsOf(extents_); }
  int64_t OffsetOf(int64_t index) const;

  // The extent of the innermost axis when its step is 1, which is taken out then; else 1.
  int64_t TakeRun();

  // The innermost axis, which is taken out; one element where there is none.
  struct Axis {
    int64_t extent = 1, stride = 0;
  };
  Axis TakeInnermost();

 private:
  std::vector<int64_t> extents_, strides_;
};

// The axes of `dims` by reduced[axis], 1 or 0.
struct AxisSplit {
  StridedAxes kept, reduced;
};
AxisSplit SplitAxes(absl::Span<const int64_t> dims, absl::Span<const uint8_t> reduced);

}  // namespace onnx_cudnn

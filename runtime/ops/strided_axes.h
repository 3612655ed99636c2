#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// A subset of the axes of a row-major tensor: extents and strides in elements. Adjacent axes that
// are contiguous in memory are merged.
class StridedAxes {
 public:
  void Add(int64_t extent, int64_t stride);  // from the outermost to the innermost

  int64_t count() const { return ElementsOf(extents_); }
  int64_t OffsetOf(int64_t index) const;

  // Removes the innermost axis if its stride is 1, and returns its extent; otherwise returns 1.
  int64_t TakeRun();

  // Removes and returns the innermost axis; an axis of one element if there is none.
  struct Axis {
    int64_t extent = 1, stride = 0;
  };
  Axis TakeInnermost();

 private:
  std::vector<int64_t> extents_, strides_;
};

// The axes of `dims`, split by reduced[axis] (1 or 0).
struct AxisSplit {
  StridedAxes kept, reduced;
};
AxisSplit SplitAxes(absl::Span<const int64_t> dims, absl::Span<const uint8_t> reduced);

}  // namespace onnx_cudnn

// Reductions over any axes: parameters and launches of reduce_*.cu.
#pragma once

#include <vector>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/axis_set.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// What is applied to each element before the reduction, and to each result after it.
enum class ReducePrepare : uint8_t { kNone, kMagnitude, kSquare };
enum class ReduceFinish : uint8_t { kNone, kMean, kRoot, kLogarithm };

// The layout of elements and results. Either the innermost lanes are reduced: elements are at
// kept(k) + reduced(r) + i for i < run, and inner is 1; or they are kept: result k · inner + i
// reduces the elements at kept(k) + reduced(r) + i, and run is 1.
struct ReduceLanes {
  AxisSet kept, reduced;
  int64_t run = 1, inner = 1;
  int64_t inner_lanes = 1;  // including the padding after them
  // Result i is written to i / channels · pitch + i % channels; both are 1 without padding.
  int64_t channels = 1, pitch = 1;

  int64_t results() const { return kept.count * inner; }
  int64_t elements_of_one() const { return reduced.count * run; }
};

struct ReduceOptions {
  DType dtype = DType::kF32;
  ReducePrepare prepare = ReducePrepare::kNone;
  ReduceFinish finish = ReduceFinish::kNone;
  bool smallest = false;  // ReduceMin
};

struct ReduceCalls {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};

// At least one result, possibly of no elements. One launch, or two with partial results in the
// workspace.
ReduceCalls SumCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y);
// Sums in f64, for squares that f32 or the integer type cannot represent.
ReduceCalls WideSumCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y);
ReduceCalls LargestCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y);
ReduceCalls ProductCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y);
ReduceCalls LogSumExpCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y);

}  // namespace onnx_cudnn

// Norms of rows with element-wise ops before and behind them: parameters and launch of
// row_group.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/rows.h"
#include "runtime/kernels/cuda/pointwise/pointwise_chain.h"

namespace onnx_cudnn {

inline constexpr int kRowGroupLanes = 8;  // adjacent elements of a thread
inline constexpr int kMostRowGroupThreads = 1024;
inline constexpr int kMostRowGroupAxes = 4;  // before the rows
inline constexpr int kMostRowGroupSteps = 48;
inline constexpr int kMostRowGroupOperands = 16;
inline constexpr int kMostRowGroupOutputs = 8;

// AccumulatorStep::output of a step that reads a register: the saved result, or what the segment
// starts from.
inline constexpr int kSavedRegister = 0, kStartRegister = 1;

// A tensor of f32, f16 or bf16 that broadcasts to the rows, or the rows of a table that indices
// name.
struct RowGroupOperand {
  const void* data = nullptr;
  const void* indices = nullptr;            // one for each row, if there is a table
  int64_t table = 0;                        // rows of the table; 0: none
  bool is_wide = false;                     // the indices are i64, not i32
  int64_t strides[kMostRowGroupAxes] = {};  // of the axes before the rows, the innermost first
  int step = 0;                             // between columns: 1, or 0 for one element per row
  DType dtype = DType::kUndefined;
};

struct RowGroupOutput {
  void* data = nullptr;  // row-major
  DType dtype = DType::kUndefined;
};

inline constexpr int kMostRowGroupAddends = 3;

// A group that needs no program: x is the sum of the first operands, and behind the norm y is only
// stored, possibly in several types.
struct RowGroupSum {
  int addends = 0;                           // 0: it needs the program
  DType rounded[kMostRowGroupAddends] = {};  // of the sum after each addend; kUndefined: f32
  int x_output = -1;                         // receives x; -1: none
  int first_output = 0, end_output = 0;      // receive y
};
// Segment 0 computes x from operands; segment 1 starts from y, which is
// (x - mean) · inverse · scale + bias rounded to `dtype`, with inverse = 1 / sqrt(variance +
// epsilon). Both are programs of an accumulator, which is x at the end of segment 0.
struct RowGroupParameters {
  RowShape rows;  // whole: rows consist of aligned vectors of kRowGroupLanes; pitch is extent
  FastDivide<uint32_t> axes[kMostRowGroupAxes];  // extents, the innermost first
  bool about_zero = false;                       // the mean is taken as 0
  float epsilon = 0;
  DType dtype = DType::kF32;
  RowGroupOperand scale, bias;  // bias.dtype kUndefined: none
  // Of each segment.
  struct Range {
    int16_t steps, reads;
  };
  Range ends[2] = {};                         // segment 1 begins where segment 0 ends
  uint64_t program[kMostRowGroupSteps] = {};  // the bytes of AccumulatorSteps
  // In the order of their reads, read by the steps with a source kOperand.
  RowGroupOperand operands[kMostRowGroupOperands];
  RowGroupOutput outputs[kMostRowGroupOutputs];
  RowGroupSum sum;
  uint64_t* fault = nullptr;  // if there is a table
};

// What the program of `parameters` does.
RowGroupSum SumOf(const RowGroupParameters& parameters);

KernelCall RowGroupCall(const LaunchShape& shape, const RowGroupParameters& parameters);

}  // namespace onnx_cudnn

// Ops on rows with the element-wise ops around them: parameters and launch of row_group.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/rows.h"
#include "runtime/kernels/cuda/pointwise/pointwise_chain.h"
#include "runtime/kernels/norm/row_op.h"

namespace onnx_cudnn {

inline constexpr int kRowGroupLanes = 8;  // elements of a vector, and of a thread
inline constexpr int kMostRowGroupThreads = 1024;
inline constexpr int kWideRowGroupLanes = 32;  // of a thread, without a program
inline constexpr int kMostWideRowGroupThreads = 256;
inline constexpr int kMostRowGroupAxes = 4;  // before the rows
inline constexpr int kMostRowGroupSteps = 48;
inline constexpr int kMostRowGroupOperands = 16;
inline constexpr int kMostRowGroupOutputs = 8;

// AccumulatorStep::output of a step that reads a register: the saved result, what the segment
// starts from, or the kept value.
inline constexpr int kSavedRegister = 0, kStartRegister = 1, kKeptRegister = 2;
// AccumulatorStep::output of a store that keeps the accumulator for later segments.
inline constexpr int kKeptOutput = kMostRowGroupOutputs;

// A tensor of f32, f16, bf16 or bool that broadcasts to the rows, or the rows of a table that
// indices name.
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
  bool of_row = false;  // one element per row
};

struct RowGroupOp {
  RowOp op = RowOp::kLayerNorm;
  DType dtype = DType::kF32;  // which its results are rounded to
};

inline constexpr int kMostRowGroupAddends = 3;

// A group that needs no program: x is the sum of the first operands, of which the first is
// multiplied by a factor, and behind its one op y is only stored, possibly in several types.
struct RowGroupSum {
  int addends = 0;  // 0: it needs the program
  float factor = 1;
  DType rounded[kMostRowGroupAddends] = {};  // of the sum after each addend; kUndefined: f32
  int x_output = -1;                         // receives x; -1: none
  int first_output = 0, end_output = 0;      // receive y
};
// Segment i computes the input of op i, the last segment what is read behind the last op; all are
// programs of one accumulator. Segment 0 starts from operands, the others from the result y of the
// op before: of a norm (x - mean) · inverse · scale + bias, with inverse = 1 / sqrt(variance +
// epsilon).
struct RowGroupParameters {
  RowShape rows;  // whole: rows consist of aligned vectors of kRowGroupLanes; pitch is extent
  int lanes = kRowGroupLanes;  // most elements of a thread: kWideRowGroupLanes only for a sum
  // Of a row: vectors, or, if it is not whole, elements that each of its threads has, and threads
  // that have one more.
  int turns = 0, lanes_of_last_turn = 0;
  int axis_count = 0;
  FastDivide<uint32_t> axes[kMostRowGroupAxes];  // extents, the innermost first
  int count = 0;                                 // of ops
  RowGroupOp ops[kMostRowOps];
  float epsilon = 0;
  RowGroupOperand scale, bias;  // of the norm; a dtype kUndefined: none
  // Of each segment.
  struct Range {
    int16_t steps, reads;
  };
  Range ends[kMostRowOps + 1] = {};           // each begins where the one before ends
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

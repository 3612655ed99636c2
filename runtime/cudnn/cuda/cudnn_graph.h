// A cuDNN graph as plain data: lowering creates it and cudnn_plan.cc translates it to cuDNN's
// frontend, whose header costs 50 s of compile time per file.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/plan/format.h"

namespace onnx_cudnn {

enum class PointwiseMode : uint8_t {
#define POINTWISE_MODE(name, frontend) name,
#include "runtime/cudnn/cuda/pointwise_modes.inc"
#undef POINTWISE_MODE
};
inline constexpr PointwiseMode kLastPointwiseMode = PointwiseMode::kTanh;

struct CudnnTensor {
  enum class Kind : uint8_t {
    kInput,
    kOutput,
    kConstant,
    kNumber,   // one f32 that is part of the plan
    kVirtual,  // between two operations, not in memory
  };
  Kind kind = Kind::kVirtual;
  int index = 0;              // position among the Step's inputs, outputs or constants
  float number = 0;           // kNumber
  int64_t offset = 0;         // kInput: bytes from its begin
  DType dtype = DType::kF32;  // kBool: result of a comparison
  Dims dims,
      strides;  // including padding; images: N, C, spatial dims; matrices: batch, rows, columns
  bool operator==(const CudnnTensor&) const = default;
};

// A window over the spatial dims; one entry per dim.
struct CudnnWindow {
  std::vector<int64_t> kernel, stride, dilation, pad_before, pad_behind;
};

struct CudnnOperation {
  enum class Kind : uint8_t {
    kConvolution,           // in: x, w
    kTransposeConvolution,  // in: x, w; computed as the data gradient: dy, w
    kProduct,               // in: a, b
    kPointwise,             // in: one to three; kSelect: yes, no, condition
    kReduction,             // in: x; out has extent 1 along reduced dims
    kMaxPool,               // in: x
    kAveragePool,           // in: x
    kLayerNorm,             // in: x, scale, epsilon, and bias where there is one
    kRmsNorm,               // in: x, scale, epsilon
    kAttention,             // in: q, k, v, scale, and a mask; or the score of keys behind a query
  };
  enum class Reduction : uint8_t { kSum, kMax, kMin };

  Kind kind = Kind::kPointwise;
  std::vector<int> in;  // indices into the tensors
  int out = -1;
  CudnnWindow window = {};
  bool counts_padding = false;  // kAveragePool
  PointwiseMode mode = PointwiseMode::kIdentity;
  // kRelu: y = x < lower ? lower + slope * (x - lower) : min(x, upper)
  double lower = 0, upper = std::numeric_limits<double>::infinity(), slope = 0;
  double beta = 1;  // kSwish: x * sigmoid(beta * x)
  Reduction reduction = Reduction::kSum;
  bool is_causal = false;  // kAttention
};

// Constant `constant` of the Candidate, viewed with `dims`, packed in `format`.
struct PackedConstant {
  int constant = 0;
  Dims dims;
  Format format;
  bool operator==(const PackedConstant&) const = default;
};

// Operations in topological order. All compute in f32.
struct CudnnGraph {
  DType dtype = DType::kF32;  // of the operands of the anchor
  std::vector<CudnnTensor> tensors;
  std::vector<CudnnOperation> operations;
  std::vector<PackedConstant> constants;  // parallel to those of the Step
};

// The indices of the tensors that are in memory or are numbers: what a plan is bound to.
std::vector<int> OperandsOf(const CudnnGraph& graph);

}  // namespace onnx_cudnn

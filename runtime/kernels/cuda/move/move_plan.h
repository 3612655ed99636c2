// Makes a Move from the dims and Formats of operands: joins axes and widens units.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/move.h"

namespace onnx_cudnn {

// The lanes of one dim of a dense operand, including padding.
struct LaneDim {
  int dim;
  int64_t extent;
};
// Every dim, from outermost to innermost in memory; dims that the Format dropped come first.
std::vector<LaneDim> LaneDimsOf(const KernelOperand& operand);
// A Format of `dims` with the layout of `like`.
Format FormatLike(const KernelOperand& like, absl::Span<const int64_t> dims);

struct MoveAxis {
  int64_t extent;  // elements of the output
  Route route;
};
// The Route of an axis whose every position has a source, `stride` elements apart.
inline Route WholeRoute(int64_t extent, int64_t stride) {
  return {.low = 0, .high = extent, .stride = stride};
}

// Reads `Parameters` (of Slice or Pad) from the operands.
template <typename Parameters>
void SetDims(const KernelOperand& from, const KernelOperand& to, Parameters& p) {
  p.rank = from.value->rank();
  const Strides strides = StridesOf(from);
  const std::vector<LaneDim> lanes = LaneDimsOf(to);
  for (int i = 0; i < p.rank; ++i) {
    const int d = lanes[i].dim;
    p.in_dims[d] = from.dims()[d];
    p.in_strides[d] = strides.strides[d];
    p.out_dims[d] = to.dims()[d];
    p.place[d] = p.rank - 1 - i;
  }
}

// A Move between two operands, still without axes; its units are elements.
Move MoveBetween(const KernelOperand& from, const KernelOperand& to);
// With `axes` of the output's lanes, from outermost to innermost in memory.
KernelCall CallOf(Move move, std::vector<MoveAxis> axes);
// With one Route per dim of the output. Padding lanes are copied if the source has the same ones.
KernelCall CallByDims(Move move, const KernelOperand& from, const KernelOperand& to,
                      absl::Span<const Route> routes);
// With `strides` of the input for each dim of the output.
KernelCall CallByStrides(const KernelOperand& from, const KernelOperand& to,
                         const Strides& strides);
// With Routes that another launch writes to a table, innermost axis first.
KernelCall CallByTable(Move move, const KernelOperand& to, Slot table);

// Whether output `index` of the Unit's Node is used.
bool IsWritten(const KernelRequest& request, const Node& node, int index);

// An i32 or i64 operand whose elements the host knows, or whose address is bound later.
Integers IntegersOf(const Node& node, int input);
// Whether input `index` is present and known only when the kernel runs.
bool IsOnDevice(const Node& node, int input);

// The error for an index outside `dims`.
absl::Status IndexFault(uint64_t word, absl::Span<const int64_t> dims);
// The error for parameters that do not give the inferred output shape; `rank` is that of the axes.
absl::Status OutputFault(uint64_t word, std::string_view what, absl::Span<const int64_t> dims,
                         int rank);

}  // namespace onnx_cudnn

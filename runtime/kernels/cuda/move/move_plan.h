// From the dims and Formats of operands to a Move: axes are joined and units widened.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/move.h"

namespace onnx_cudnn {

// A dim of a dense operand with its lanes, padding included.
struct LaneDim {
  int dim;
  int64_t extent;
};
// Every dim, from the outermost in memory to the innermost; those that the Format dropped first.
std::vector<LaneDim> LaneDimsOf(const KernelOperand& operand);
// The Format of `dims` that is to them what `like`'s Format is to its dims.
Format FormatLike(const KernelOperand& like, absl::Span<const int64_t> dims);

struct MoveAxis {
  int64_t extent;  // elements of the output
  Route route;
};
// The Route of an axis whose every position has a source, `stride` elements apart.
inline Route WholeRoute(int64_t extent, int64_t stride) {
  return {.low = 0, .high = extent, .stride = stride};
}

// What `Parameters` (of Slice, of Pad) say of the operands around them.
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

// A Move between two operands that has no axes yet; its units are elements.
Move MoveBetween(const KernelOperand& from, const KernelOperand& to);
// With `axes`, from the outermost in memory to the innermost, those of the output's lanes.
KernelCall CallOf(Move move, std::vector<MoveAxis> axes);
// With one Route for each dim of the output. Padding lanes are copied along where the source has
// the same ones.
KernelCall CallByDims(Move move, const KernelOperand& from, const KernelOperand& to,
                      absl::Span<const Route> routes);
// With Routes that another launch writes into a table, innermost axis first.
KernelCall CallByTable(Move move, const KernelOperand& to, Slot table);

// Whether somebody reads output `index` of the Unit's Node.
bool IsWritten(const KernelRequest& request, const Node& node, int index);

// An i32 or i64 operand whose elements the host knows, or whose address is bound later.
Integers IntegersOf(const Node& node, int input);
// Whether input `index` is present and known when the kernel runs only.
bool IsOnDevice(const Node& node, int input);

// The error of an index that is outside of `dims`.
absl::Status IndexFault(uint64_t word, absl::Span<const int64_t> dims);
// The error of parameters that do not give the output that the shapes said; `rank` is that of the
// axes.
absl::Status OutputFault(uint64_t word, std::string_view what, absl::Span<const int64_t> dims,
                         int rank);

}  // namespace onnx_cudnn

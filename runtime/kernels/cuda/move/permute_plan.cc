#include "runtime/kernels/cuda/move/permute_plan.h"

#include <algorithm>
#include <cstddef>

namespace onnx_cudnn {
namespace {

using Axes = std::vector<PermutedAxis>;

constexpr int64_t kMost = (int64_t{1} << 31) - 1;  // limit of 32-bit divisions and grids
constexpr int kVectorBytes = 16;
constexpr int64_t kFewRows = 8;  // rows of a narrow tile

bool IsPadded(const PermutedAxis& axis) {
  return axis.from_lanes != axis.extent || axis.to_lanes != axis.extent;
}

// The axes from outer to inner in the target, without axes of one lane; axes that are contiguous on
// both sides are merged.
Axes Merged(Axes axes) {
  std::erase_if(axes, [](const PermutedAxis& a) { return a.extent == 1 && a.to_lanes == 1; });
  std::stable_sort(axes.begin(), axes.end(),
                   [](const PermutedAxis& a, const PermutedAxis& b) { return a.to > b.to; });
  Axes merged;
  for (const PermutedAxis& axis : axes) {
    if (!merged.empty() && !IsPadded(axis) && !IsPadded(merged.back()) &&
        merged.back().to == axis.to * axis.extent &&
        merged.back().from == axis.from * axis.extent) {
      const int64_t extent = merged.back().extent * axis.extent;
      merged.back() = {extent, axis.from, axis.to, extent, extent};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

// The widest access of at most `most` bytes that divides every number of elements in `multiples`.
int WidestAccess(int element_bytes, const std::vector<int64_t>& multiples, int64_t most) {
  for (int bytes = kVectorBytes; bytes > element_bytes; bytes /= 2) {
    if (bytes > most || (bytes == 2 && element_bytes == 1)) continue;
    const int64_t elements = bytes / element_bytes;
    const bool fits = std::all_of(multiples.begin(), multiples.end(),
                                  [&](int64_t m) { return m % elements == 0; });
    if (fits) return bytes;
  }
  return element_bytes;
}

void AddBatch(PermutedBatch& batch, int64_t extent, int64_t from, int64_t to) {
  batch.extents[batch.count] = FastDivide<uint32_t>(extent);
  batch.from[batch.count] = from;
  batch.to[batch.count] = to;
  ++batch.count;
}

using Plan = std::optional<std::vector<KernelCall>>;

template <typename Parameters>
Plan Bound(KernelCall call, Slot from, Slot to) {
  call.Bind(offsetof(Parameters, from), from).Bind(offsetof(Parameters, to), to);
  std::vector<KernelCall> calls;
  calls.push_back(std::move(call));
  return calls;
}

// For sides with the same innermost axis, or one without a dense innermost axis.
Plan PlanRows(int element_bytes, const Axes& axes, bool is_dense, Slot from, Slot to) {
  std::vector<int64_t> multiples;
  int64_t elements = 1;
  for (const PermutedAxis& axis : axes) {
    elements *= axis.extent;
    if (&axis == &axes.back()) continue;
    multiples.insert(multiples.end(), {axis.from, axis.to});
  }
  multiples.push_back(axes.back().extent);
  const int bytes = is_dense ? WidestAccess(element_bytes, multiples, kVectorBytes) : element_bytes;
  const int64_t width = bytes / element_bytes;
  PermutedRows rows{.accesses = elements / width};
  if (rows.accesses > kMost || axes.size() > kMostPermutedAxes) return std::nullopt;
  for (const PermutedAxis& axis : axes) {
    if (is_dense && &axis == &axes.back()) {
      AddBatch(rows.axes, axis.extent / width, 1, 1);
    } else {
      AddBatch(rows.axes, axis.extent, axis.from / width, axis.to / width);
    }
  }
  return Bound<PermutedRows>(PermuteRows(bytes, rows), from, to);
}

// One or two axes that are contiguous on one side.
struct Line {
  int64_t elements = 0;
  int64_t inner = 1;
  int64_t strides[2] = {};  // on the other side, for the inner and the outer axis
};

// The axis that continues `inner` without a gap, on the side whose strides `stride` selects;
// nullptr if there is none.
const PermutedAxis* Next(const Axes& axes, const PermutedAxis& inner, const PermutedAxis* taken,
                         int64_t PermutedAxis::*stride) {
  for (const PermutedAxis& axis : axes) {
    if (&axis != taken && &axis != &inner && !IsPadded(axis) && axis.*stride == inner.extent) {
      return &axis;
    }
  }
  return nullptr;
}

TileShape ShapeOf(const PermutedTiles& tiles) {
  if (tiles.written_rows <= kFewRows) return TileShape::kManyColumns;
  return tiles.readable_columns <= kFewRows ? TileShape::kManyRows : TileShape::kSquare;
}

// The rows and columns of tiles; the remaining axes count batches.
class Tiling {
 public:
  Tiling(int element_bytes, const Axes& axes, const PermutedAxis& row, const PermutedAxis& column)
      : element_bytes_(element_bytes), axes_(axes), row_(row), column_(column) {
    const int side = ExtentsOf(TileShape::kSquare, element_bytes).rows;
    if (!IsPadded(row) && row.extent < side) {
      next_row_ = Next(axes, row, &column, &PermutedAxis::to);
    }
    if (!IsPadded(column) && column.extent < side) {
      next_column_ = Next(axes, column, &row, &PermutedAxis::from);
      if (next_column_ == next_row_) next_column_ = nullptr;
    }
  }

  Plan Make(Slot from, Slot to) {
    if (!SetLines()) return std::nullopt;
    const TileShape shape = ShapeOf(tiles_);
    const TileExtents extents = ExtentsOf(shape, element_bytes_);
    const int64_t column_tiles = (tiles_.columns + extents.columns - 1) / extents.columns;
    const int64_t row_tiles = (tiles_.written_rows + extents.rows - 1) / extents.rows;
    int64_t count = column_tiles * row_tiles;
    std::vector<int64_t> from_multiples = {tiles_.readable_columns, tiles_.row_from[0],
                                           tiles_.row_from[1]};
    std::vector<int64_t> to_multiples = {tiles_.written_rows, tiles_.column_to[0],
                                         tiles_.column_to[1]};
    for (const PermutedAxis& axis : axes_) {
      if (IsTaken(axis)) continue;
      if (axis.extent > kMost / count) return std::nullopt;
      count *= axis.extent;
      AddBatch(tiles_.batch, axis.extent, axis.from, axis.to);
      from_multiples.push_back(axis.from);
      to_multiples.push_back(axis.to);
    }
    tiles_.column_tiles = FastDivide<uint32_t>(column_tiles);
    tiles_.row_tiles = FastDivide<uint32_t>(row_tiles);
    tiles_.from_bytes =
        WidestAccess(element_bytes_, from_multiples, int64_t{extents.columns} * element_bytes_);
    tiles_.to_bytes =
        WidestAccess(element_bytes_, to_multiples, int64_t{extents.rows} * element_bytes_);
    return Bound<PermutedTiles>(PermuteTiles(element_bytes_, shape, count, tiles_), from, to);
  }

 private:
  bool IsTaken(const PermutedAxis& axis) const {
    return &axis == &row_ || &axis == &column_ || &axis == next_row_ || &axis == next_column_;
  }

  // Returns false if something does not fit 32 bits.
  bool SetLines() {
    const int64_t more_rows = next_row_ == nullptr ? 1 : next_row_->extent;
    const int64_t more_columns = next_column_ == nullptr ? 1 : next_column_->extent;
    if (row_.to_lanes > kMost / more_rows || column_.from_lanes > kMost / more_columns) {
      return false;
    }
    tiles_.rows = row_.extent * more_rows;
    tiles_.written_rows = row_.to_lanes * more_rows;
    tiles_.columns = column_.extent * more_columns;
    tiles_.readable_columns = column_.from_lanes * more_columns;
    tiles_.inner_rows = FastDivide<uint32_t>(std::max(row_.to_lanes, row_.extent));
    tiles_.inner_columns = FastDivide<uint32_t>(std::max(column_.from_lanes, column_.extent));
    tiles_.row_from[0] = row_.from;
    tiles_.column_to[0] = column_.to;
    if (next_row_ != nullptr) tiles_.row_from[1] = next_row_->from;
    if (next_column_ != nullptr) tiles_.column_to[1] = next_column_->to;
    return true;
  }

  const int element_bytes_;
  const Axes& axes_;
  const PermutedAxis &row_, &column_;
  const PermutedAxis *next_row_ = nullptr, *next_column_ = nullptr;
  PermutedTiles tiles_;
};

}  // namespace

Plan PlanPermutation(int element_bytes, Axes all_axes, Slot from, Slot to) {
  for (const PermutedAxis& axis : all_axes) {
    if (axis.extent == 0) return std::vector<KernelCall>();
  }
  const Axes axes = Merged(std::move(all_axes));
  if (axes.empty()) return std::vector<KernelCall>{KernelCall::Copy(to, from, element_bytes)};
  for (const PermutedAxis& axis : axes) {
    const bool writes_padding = axis.to_lanes != axis.extent;
    if (axis.extent > kMost || (writes_padding && (&axis != &axes.back() || axis.to != 1))) {
      return std::nullopt;
    }
  }
  const PermutedAxis& row = axes.back();
  const auto column = std::find_if(
      axes.begin(), axes.end(), [](const PermutedAxis& a) { return a.from == 1 && a.extent > 1; });
  const bool writes_padding = row.to_lanes != row.extent;
  const bool swaps = row.to == 1 && column != axes.end() && &*column != &row;
  if (swaps) return Tiling(element_bytes, axes, row, *column).Make(from, to);
  if (writes_padding) return std::nullopt;
  const bool is_dense = row.to == 1 && row.from == 1;
  if (is_dense && axes.size() == 1) {
    return std::vector<KernelCall>{KernelCall::Copy(to, from, row.extent * element_bytes)};
  }
  return PlanRows(element_bytes, axes, is_dense, from, to);
}

}  // namespace onnx_cudnn

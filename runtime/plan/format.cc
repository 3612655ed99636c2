#include "runtime/plan/format.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {
namespace {

using AxisList = absl::InlinedVector<Format::Axis, 8>;

// Whether two axes of one dim are contiguous and can be merged.
bool CountsOn(const Format::Axis& outer, const Format::Axis& inner) {
  return outer.dim == inner.dim && outer.block == inner.block * inner.extent &&
         inner.pitch == inner.extent;
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// The stride in elements of each axis.
std::vector<int64_t> LaneStrides(absl::Span<const Format::Axis> axes) {
  std::vector<int64_t> strides(axes.size(), 1);
  for (size_t i = axes.size(); i-- > 1;) strides[i - 1] = strides[i] * axes[i].pitch;
  return strides;
}

// Iterates over all lanes of a Format, padding included, together with the row-major elements.
template <typename T, bool kPack>
class Walker {
 public:
  using Dense = std::conditional_t<kPack, const T, T>;
  using Lanes = std::conditional_t<kPack, T, const T>;

  Walker(absl::Span<const int64_t> dims, const Format& format, Dense* dense, Lanes* lanes)
      : left_(dims.begin(), dims.end()), dense_(dense), lanes_(lanes) {
    const std::vector<int64_t> dense_strides = RowMajorStrides(dims);
    const std::vector<int64_t> lane_strides = LaneStrides(format.axes());
    for (size_t i = 0; i < format.axes().size(); ++i) {
      const Format::Axis& axis = format.axes()[i];
      axes_.push_back({axis.dim, axis.block, axis.extent, axis.block * dense_strides[axis.dim],
                       lane_strides[i]});
    }
  }

  // Steps [begin, end) of the outermost axis. All steps together cover all lanes.
  void WalkSteps(int64_t begin, int64_t end) {
    const Axis& axis = axes_[0];
    const int64_t left = left_[axis.dim];
    for (int64_t i = begin; i < end; ++i) {
      left_[axis.dim] = left - i * axis.block;
      const bool padding = left_[axis.dim] <= 0;
      if (padding && !kPack) break;
      Walk(1, padding ? 0 : i * axis.dense_stride, i * axis.lane_stride, padding);
    }
    left_[axis.dim] = left;
  }

 private:
  struct Axis {
    int dim;
    int64_t block, extent, dense_stride, lane_stride;
  };

  void Walk(size_t depth, int64_t dense, int64_t lane, bool padding) {
    if (depth == axes_.size()) return Visit(dense, lane, padding);
    const Axis& axis = axes_[depth];
    const int64_t left = left_[axis.dim];
    const int64_t within =
        padding ? 0 : std::clamp<int64_t>((left + axis.block - 1) / axis.block, 0, axis.extent);
    if (depth + 1 == axes_.size()) return WalkInnermost(axis, within, dense, lane);
    for (int64_t i = 0; i < within; ++i) {
      left_[axis.dim] = left - i * axis.block;
      Walk(depth + 1, dense + i * axis.dense_stride, lane + i * axis.lane_stride, false);
    }
    left_[axis.dim] = left;
    for (int64_t i = within; kPack && i < axis.extent; ++i) {
      Walk(depth + 1, 0, lane + i * axis.lane_stride, true);
    }
  }

  void Visit(int64_t dense, int64_t lane, bool padding) {
    if constexpr (kPack) {
      lanes_[lane] = padding ? T{} : dense_[dense];
    } else if (!padding) {
      dense_[dense] = lanes_[lane];
    }
  }

  void WalkInnermost(const Axis& axis, int64_t within, int64_t dense, int64_t lane) {
    for (int64_t i = 0; i < within; ++i) {
      Visit(dense + i * axis.dense_stride, lane + i * axis.lane_stride, false);
    }
    for (int64_t i = within; i < axis.extent; ++i) Visit(0, lane + i * axis.lane_stride, true);
  }

  std::vector<int64_t> left_;  // by dim: logical indices between the current position and the end
  std::vector<Axis> axes_;
  Dense* dense_;
  Lanes* lanes_;
};

// Planes with rows and columns exchanged: dense[plane][column][row] is lanes[plane][row][column],
// contiguous within rows on both sides. Channels-last is such a Format: its rows are pixels, its
// columns channels.
struct Planes {
  int64_t planes, rows, columns;
  int64_t lane_columns;  // including padding
  int64_t plane_dense, column_dense;
  int64_t plane_lane, row_lane;
};

std::optional<Planes> PlanesOf(absl::Span<const int64_t> dims, const Format& format) {
  struct Loop {
    int64_t steps, dense, lane;
  };
  const absl::Span<const Format::Axis> axes = format.axes();
  const std::vector<int64_t> dense = RowMajorStrides(dims);
  const std::vector<int64_t> lanes = LaneStrides(axes);
  absl::InlinedVector<Loop, 4> outer;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    const Format::Axis& axis = axes[i];
    if (axis.block != 1 || axis.extent != dims[axis.dim]) return std::nullopt;
    const Loop loop = {axis.extent, dense[axis.dim], lanes[i]};
    const bool counts_on = !outer.empty() && outer.back().dense == loop.dense * loop.steps &&
                           outer.back().lane == loop.lane * loop.steps;
    if (!counts_on) {
      outer.push_back(loop);
    } else {
      outer.back() = {outer.back().steps * loop.steps, loop.dense, loop.lane};
    }
  }
  if (outer.empty() || outer.size() > 2 || outer.back().dense != 1) return std::nullopt;
  const Format::Axis& last = axes.back();
  if (last.block != 1 || last.extent < dims[last.dim]) return std::nullopt;
  const Loop plane = outer.size() == 2 ? outer[0] : Loop{1, 0, 0};
  return Planes{.planes = plane.steps,
                .rows = outer.back().steps,
                .columns = dims[last.dim],
                .lane_columns = last.extent,
                .plane_dense = plane.dense,
                .column_dense = dense[last.dim],
                .plane_lane = plane.lane,
                .row_lane = outer.back().lane};
}

constexpr int64_t kTile = 32;             // rows and columns transposed at once
constexpr int64_t kGrainBytes = 1 << 18;  // minimum per thread

// How many pieces of equal size a thread should process.
int64_t GrainOf(int64_t bytes_each) {
  return std::max<int64_t>(kGrainBytes / std::max<int64_t>(bytes_each, 1), 1);
}

// to[j][i] = from[i][j] for i < rows, j < columns, both ≤ kTile. Both sides are accessed in
// contiguous runs.
template <typename T>
void TransposeTile(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to,
                   int64_t to_stride) {
  T tile[kTile][kTile];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) tile[j][i] = from[i * from_stride + j];
  }
  for (int64_t j = 0; j < columns; ++j) std::copy_n(tile[j], rows, to + j * to_stride);
}

template <bool kPack, typename Dense, typename Lanes>
void ConvertPlanes(const Planes& p, Dense* dense, Lanes* lanes) {
  const int64_t tiles = (p.rows + kTile - 1) / kTile;
  const auto convert = [&](int64_t plane, int64_t row) {
    const int64_t rows = std::min(kTile, p.rows - row);
    Dense* const d = dense + plane * p.plane_dense + row;
    Lanes* const l = lanes + plane * p.plane_lane + row * p.row_lane;
    for (int64_t column = 0; column < p.columns; column += kTile) {
      const int64_t columns = std::min(kTile, p.columns - column);
      Dense* const in_dense = d + column * p.column_dense;
      if constexpr (kPack) {
        TransposeTile(in_dense, p.column_dense, columns, rows, l + column, p.row_lane);
      } else {
        TransposeTile(l + column, p.row_lane, rows, columns, in_dense, p.column_dense);
      }
    }
    if constexpr (kPack) {
      const int64_t padding = p.lane_columns - p.columns;
      for (int64_t i = 0; i < rows; ++i) {
        std::fill_n(l + i * p.row_lane + p.columns, padding, Lanes{});
      }
    }
  };
  const int64_t bytes = kTile * p.columns * static_cast<int64_t>(sizeof(Dense));
  ThreadPool::Default().ParallelFor(p.planes * tiles, GrainOf(bytes),
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i) {
                                        convert(i / tiles, i % tiles * kTile);
                                      }
                                    });
}

struct SixteenBytes {
  uint64_t low = 0, high = 0;
};

// `to` equals `from`, or they are disjoint.
void CopyBytes(void* to, const void* from, int64_t bytes) {
  auto* const target = static_cast<char*>(to);
  const auto* const source = static_cast<const char*>(from);
  ThreadPool::Default().ParallelFor(bytes, kGrainBytes, [&](int64_t begin, int64_t end) {
    std::memmove(target + begin, source + begin, end - begin);
  });
}

template <bool kPack, typename DensePointer, typename LanesPointer>
void Convert(DType dtype, absl::Span<const int64_t> dims, const Format& format, DensePointer dense,
             LanesPointer lanes) {
  if (ElementsOf(dims) == 0) return;
  const std::optional<Planes> planes = PlanesOf(dims, format);
  auto walk = [&]<typename T>(T) {
    using Walk = Walker<T, kPack>;
    auto* const elements = static_cast<typename Walk::Dense*>(dense);
    auto* const to_lanes = static_cast<typename Walk::Lanes*>(lanes);
    if (planes.has_value()) return ConvertPlanes<kPack>(*planes, elements, to_lanes);
    const Walk walker(dims, format, elements, to_lanes);
    const int64_t steps = format.axes()[0].extent;
    const int64_t bytes = format.lanes() / steps * static_cast<int64_t>(sizeof(T));
    ThreadPool::Default().ParallelFor(steps, GrainOf(bytes), [&](int64_t begin, int64_t end) {
      Walk(walker).WalkSteps(begin, end);
    });
  };
  switch (BitsOf(dtype)) {
    case 8:
      return walk(uint8_t{});
    case 16:
      return walk(uint16_t{});
    case 32:
      return walk(uint32_t{});
    case 64:
      return walk(uint64_t{});
    case 128:
      return walk(SixteenBytes{});
    default:
      LOG(FATAL) << NameOf(dtype) << " has no Format but row-major";
  }
}

}  // namespace

Format Format::Of(absl::Span<const Axis> axes) {
  Format format;
  format.axes_.reserve(axes.size());
  int64_t pitch = 1;  // of dropped axes since the last kept one; applied to the next inner axis
  for (size_t i = 0; i < axes.size(); ++i) {
    Axis axis = axes[i];
    axis.pitch *= pitch;
    pitch = 1;
    if (format.axes_.empty()) axis.pitch = axis.extent;  // there is no outer axis
    if (axis.extent == 1 && (axis.pitch == 1 || i + 1 < axes.size())) {
      pitch = axis.pitch;
    } else if (!format.axes_.empty() && CountsOn(format.axes_.back(), axis)) {
      Axis& outer = format.axes_.back();
      outer = {axis.dim, axis.block, outer.extent * axis.extent, outer.pitch * axis.extent};
    } else {
      format.axes_.push_back(axis);
    }
  }
  return format;
}

Format Format::RowMajor(absl::Span<const int64_t> dims) {
  AxisList axes;
  for (size_t i = 0; i < dims.size(); ++i)
    axes.push_back({static_cast<int>(i), 1, dims[i], dims[i]});
  return Of(axes);
}

Format Format::Permuted(absl::Span<const int64_t> dims, absl::Span<const int> order) {
  AxisList axes;
  for (int dim : order) axes.push_back({dim, 1, dims[dim], dims[dim]});
  return Of(axes);
}

Format Format::ChannelsLast(absl::Span<const int64_t> dims, int64_t channel_multiple) {
  if (dims.size() < 3) return RowMajor(dims);
  AxisList axes = {{0, 1, dims[0], dims[0]}};
  for (size_t i = 2; i < dims.size(); ++i)
    axes.push_back({static_cast<int>(i), 1, dims[i], dims[i]});
  const int64_t channels = (dims[1] + channel_multiple - 1) / channel_multiple * channel_multiple;
  axes.push_back({1, 1, channels, channels});
  return Of(axes);
}

int64_t Format::lanes() const {
  int64_t last = 0, stride = 1;
  for (size_t i = axes_.size(); i-- > 0;) {
    if (axes_[i].extent == 0) return 0;
    last += (axes_[i].extent - 1) * stride;
    stride *= axes_[i].pitch;
  }
  return last + 1;
}

int64_t Format::own_lanes() const {
  int64_t own = 1;
  for (const Axis& axis : axes_) own *= axis.extent;
  return own;
}

Format Format::WithoutForeignLanes() const {
  AxisList axes(axes_.begin(), axes_.end());
  for (Axis& axis : axes) axis.pitch = axis.extent;
  return Of(axes);
}

bool Format::has_padding(absl::Span<const int64_t> dims) const {
  return own_lanes() != ElementsOf(dims);
}

bool Format::has_foreign_lanes() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.pitch > a.extent; });
}

int64_t Format::Offset(absl::Span<const int64_t> index) const {
  int64_t offset = 0;
  const std::vector<int64_t> strides = LaneStrides(axes_);
  for (size_t i = 0; i < axes_.size(); ++i) {
    offset += index[axes_[i].dim] / axes_[i].block % axes_[i].extent * strides[i];
  }
  return offset;
}

std::string Format::ToString() const {
  std::string text;
  for (const Axis& axis : axes_) {
    if (!text.empty()) text += ' ';
    absl::StrAppend(&text, axis.dim);
    if (axis.block != 1) absl::StrAppend(&text, "/", axis.block);
    absl::StrAppend(&text, ":", axis.extent);
    if (axis.pitch != axis.extent) absl::StrAppend(&text, "^", axis.pitch);
  }
  return text;
}

void Pack(DType dtype, absl::Span<const int64_t> dims, const void* from, const Format& format,
          void* to) {
  if (format == Format::RowMajor(dims)) {
    return CopyBytes(to, from, BytesOf(dtype, ElementsOf(dims)));
  }
  Convert</*kPack=*/true>(dtype, dims, format, from, to);
}

void Unpack(DType dtype, absl::Span<const int64_t> dims, const void* from, const Format& format,
            void* to) {
  if (format == Format::RowMajor(dims)) {
    return CopyBytes(to, from, BytesOf(dtype, ElementsOf(dims)));
  }
  Convert</*kPack=*/false>(dtype, dims, format, to, from);
}

}  // namespace onnx_cudnn

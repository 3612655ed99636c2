#include "runtime/plan/format.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

using AxisList = absl::InlinedVector<Format::Axis, 8>;

// Two axes of one dim that count on without a gap are one axis.
bool CountsOn(const Format::Axis& outer, const Format::Axis& inner) {
  return outer.dim == inner.dim && outer.block == inner.block * inner.extent &&
         inner.pitch == inner.extent;
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// Elements between the neighbours along each axis.
std::vector<int64_t> LaneStrides(absl::Span<const Format::Axis> axes) {
  std::vector<int64_t> strides(axes.size(), 1);
  for (size_t i = axes.size(); i-- > 1;) strides[i - 1] = strides[i] * axes[i].pitch;
  return strides;
}

// Walks all lanes of a Format, padding included, beside the row-major elements.
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

  void Walk(size_t depth = 0, int64_t dense = 0, int64_t lane = 0, bool padding = false) {
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

 private:
  struct Axis {
    int dim;
    int64_t block, extent, dense_stride, lane_stride;
  };

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

  std::vector<int64_t> left_;  // by dim: logical indices from where the walk stands to the end
  std::vector<Axis> axes_;
  Dense* dense_;
  Lanes* lanes_;
};

struct SixteenBytes {
  uint64_t low = 0, high = 0;
};

template <bool kPack, typename DensePointer, typename LanesPointer>
void Convert(DType dtype, absl::Span<const int64_t> dims, const Format& format, DensePointer dense,
             LanesPointer lanes) {
  if (ElementsOf(dims) == 0) return;
  auto walk = [&]<typename T>(T) {
    using Walk = Walker<T, kPack>;
    Walk(dims, format, static_cast<typename Walk::Dense*>(dense),
         static_cast<typename Walk::Lanes*>(lanes))
        .Walk();
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
  int64_t pitch =
      1;  // of the dropped axes since the last kept one: the next one further in takes it
  for (size_t i = 0; i < axes.size(); ++i) {
    Axis axis = axes[i];
    axis.pitch *= pitch;
    pitch = 1;
    if (format.axes_.empty()) axis.pitch = axis.extent;  // nothing lies further out
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

bool Format::has_padding(absl::Span<const int64_t> dims) const {
  int64_t owned = 1;
  for (const Axis& axis : axes_) owned *= axis.extent;
  return owned != ElementsOf(dims);
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
    if (ElementsOf(dims) != 0) std::memmove(to, from, BytesOf(dtype, ElementsOf(dims)));
    return;
  }
  Convert</*kPack=*/true>(dtype, dims, format, from, to);
}

void Unpack(DType dtype, absl::Span<const int64_t> dims, const void* from, const Format& format,
            void* to) {
  if (format == Format::RowMajor(dims)) {
    if (ElementsOf(dims) != 0) std::memmove(to, from, BytesOf(dtype, ElementsOf(dims)));
    return;
  }
  Convert</*kPack=*/false>(dtype, dims, format, to, from);
}

}  // namespace onnx_cudnn

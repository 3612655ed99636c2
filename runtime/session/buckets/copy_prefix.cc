#include "runtime/session/buckets/copy_prefix.h"

#include <algorithm>
#include <cstring>

namespace onnx_cudnn {
namespace {

struct AxisPair {
  int64_t from = 1, to = 1;

  int64_t common() const { return std::min(from, to); }
};

// Each axis joined with those of equal extents behind it; the first one has no other extents.
std::vector<AxisPair> JoinedAxes(absl::Span<const int64_t> from_dims,
                                 absl::Span<const int64_t> to_dims) {
  std::vector<AxisPair> axes(1);
  for (size_t i = 0; i < from_dims.size(); ++i) {
    if (from_dims[i] != to_dims[i]) axes.emplace_back();
    axes.back().from *= from_dims[i];
    axes.back().to *= to_dims[i];
  }
  return axes;
}

// `boxes` at each index of an axis that lies outside of them.
//   from_step, to_step  bytes from an index to the next
std::vector<BoxCopy> AlongAxis(const std::vector<BoxCopy>& boxes, int64_t extent, int64_t from_step,
                               int64_t to_step) {
  std::vector<BoxCopy> all;
  for (int64_t i = 0; i < extent; ++i) {
    for (BoxCopy box : boxes) {
      box.from += i * from_step;
      box.to += i * to_step;
      all.push_back(box);
    }
  }
  return all;
}

}  // namespace

std::vector<BoxCopy> CommonBoxes(const void* from, absl::Span<const int64_t> from_dims, void* to,
                                 absl::Span<const int64_t> to_dims, int64_t element_bytes) {
  std::vector<AxisPair> axes = JoinedAxes(from_dims, to_dims);
  const auto is_empty = [](const AxisPair& axis) { return axis.common() == 0; };
  if (std::any_of(axes.begin(), axes.end(), is_empty)) return {};
  const auto take = [&] {
    const AxisPair axis = axes.empty() ? AxisPair() : axes.back();
    if (!axes.empty()) axes.pop_back();
    return axis;
  };
  const AxisPair row = take(), rows = take(), planes = take();
  std::vector<BoxCopy> boxes = {{.to = static_cast<std::byte*>(to),
                                 .from = static_cast<const std::byte*>(from),
                                 .row_bytes = row.common() * element_bytes,
                                 .rows = rows.common(),
                                 .planes = planes.common(),
                                 .to_row_bytes = row.to * element_bytes,
                                 .from_row_bytes = row.from * element_bytes,
                                 .to_plane_rows = rows.to,
                                 .from_plane_rows = rows.from}};
  int64_t from_step = row.from * rows.from * planes.from * element_bytes;
  int64_t to_step = row.to * rows.to * planes.to * element_bytes;
  while (!axes.empty()) {
    const AxisPair axis = take();
    boxes = AlongAxis(boxes, axis.common(), from_step, to_step);
    from_step *= axis.from;
    to_step *= axis.to;
  }
  return boxes;
}

void CopyBoxes(absl::Span<const BoxCopy> boxes) {
  for (const BoxCopy& box : boxes) {
    for (int64_t i = 0; i < box.planes * box.rows; ++i) {
      const int64_t plane = i / box.rows, row = i % box.rows;
      std::memcpy(box.to + (plane * box.to_plane_rows + row) * box.to_row_bytes,
                  box.from + (plane * box.from_plane_rows + row) * box.from_row_bytes,
                  static_cast<size_t>(box.row_bytes));
    }
  }
}

}  // namespace onnx_cudnn

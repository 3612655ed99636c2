#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// The layout of a Value: axes from outer to inner. The element at logical index i has the offset
//   sum over axes of ((i[dim] / block) % extent) × (product of the pitches of the axes further in)
// Lanes between the logical dim and `extent` are padding and hold zero; lanes between `extent` and
// `pitch` belong to another Value and are never written. Axes of extent 1 are dropped where that
// changes no address, so equal layouts compare equal.
//   NCHW                            {0,1,N,N} {1,1,C,C} {2,1,H,H} {3,1,W,W}
//   NHWC with channels padded to 4  {0,1,N,N} {2,1,H,H} {3,1,W,W} {1,1,4,4}
//   NC/32HW32                       {0,1,N,N} {1,32,C/32,C/32} {2,1,H,H} {3,1,W,W} {1,1,32,32}
class Format {
 public:
  struct Axis {
    int dim;         // logical dim
    int64_t block;   // logical indices per step along this axis
    int64_t extent;  // steps, including padding
    int64_t pitch;   // ≥ extent
    bool operator==(const Axis&) const = default;
  };

  Format() = default;  // a scalar's
  static Format Of(absl::Span<const Axis> axes);
  static Format RowMajor(absl::Span<const int64_t> dims);
  // order[0] is the outermost dim.
  static Format Permuted(absl::Span<const int64_t> dims, absl::Span<const int> order);
  // N, spatial dims, C for rank ≥ 3, with C padded to a multiple of `channel_multiple`; row-major
  // for lower ranks.
  static Format ChannelsLast(absl::Span<const int64_t> dims, int64_t channel_multiple = 1);

  absl::Span<const Axis> axes() const { return axes_; }
  // Elements from the first to the last lane, including padding and foreign lanes between them.
  int64_t lanes() const;
  int64_t bytes(DType dtype) const { return BytesOf(dtype, lanes()); }
  int64_t own_lanes() const;  // including padding, without foreign lanes
  int64_t own_bytes(DType dtype) const { return BytesOf(dtype, own_lanes()); }
  Format WithoutForeignLanes() const;
  bool has_padding(absl::Span<const int64_t> dims) const;  // some lane is padding
  bool has_foreign_lanes() const;                          // some pitch is larger than its extent
  int64_t Offset(absl::Span<const int64_t> index) const;   // in elements
  // Stable, since it is part of signatures. "2:56 3:56 1:4": dim[/block]:extent[^pitch] of each
  // axis.
  std::string ToString() const;
  bool operator==(const Format&) const = default;

 private:
  std::vector<Axis> axes_;
};

// Converts row-major elements to the Format in `to` (format.bytes(dtype) bytes): padding lanes
// become zero, foreign lanes are unchanged. `from` and `to` are disjoint, or equal if the Format is
// row-major.
void Pack(DType dtype, absl::Span<const int64_t> dims, const void* from, const Format& format,
          void* to);
// The inverse of Pack.
void Unpack(DType dtype, absl::Span<const int64_t> dims, const void* from, const Format& format,
            void* to);

}  // namespace onnx_cudnn

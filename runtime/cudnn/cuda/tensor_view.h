// Values as cuDNN sees them: tensors of 3 to 5 dims in cuDNN's order.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// How one tensor of a Candidate, and all Values that broadcast to it, map to cuDNN's dims.
struct CudnnTensorView {
  Dims dims;                             // of the tensor, including padding
  std::vector<int> order;                // its dims in memory, from outer to inner
  std::vector<std::vector<int>> groups;  // the dims that each of cuDNN's dims spans, adjacent in
                                         // memory from outer to inner; none: extent 1
  int channel_dim = -1;                  // the padded dim; -1: none
  int64_t channels = 0;                  // its extent without padding
};

// N, C and the spatial dims, for rank 3 to 5; a single spatial dim becomes the last of two.
// Channels-last.
CudnnTensorView ImageView(absl::Span<const int64_t> dims, int64_t padded_channels);
// Batch, rows, columns for rank ≥ 2; batch, columns, rows if `is_transposed`. Row-major.
CudnnTensorView MatrixView(absl::Span<const int64_t> dims, bool is_transposed);
// Any rank up to 5, row-major or channels-last: the innermost dim becomes cuDNN's C, whatever it
// means.
CudnnTensorView PlainView(absl::Span<const int64_t> dims, bool is_channels_last);
// A row-major tensor whose reduction leaves the dims `reduced` (1 along reduced dims). Adjacent
// dims that are treated alike are merged; the innermost becomes cuDNN's C.
CudnnTensorView ReducedView(absl::Span<const int64_t> dims, absl::Span<const int64_t> reduced);
// Rows, then the normalized dims except the last (if `axis` is not the last dim), then the last
// dim.
CudnnTensorView NormalizedView(absl::Span<const int64_t> dims, int axis);

struct TensorLayout {
  Dims dims, strides;
};

// The layout of a Value that broadcasts to the tensor and has `format`.
//   errors  Unimplemented: the Format has other axes or another order than the view
absl::StatusOr<TensorLayout> LayoutOf(const CudnnTensorView& view, absl::Span<const int64_t> dims,
                                      const Format& format);
// The Format for a constant used with the tensor: in the same order, padded if it has the channels.
Format FormatBeside(const CudnnTensorView& view, absl::Span<const int64_t> dims);
// The layout of the whole tensor, dense.
TensorLayout WholeLayout(const CudnnTensorView& view);

}  // namespace onnx_cudnn

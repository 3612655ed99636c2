// How cuDNN sees Values: as tensors of 3 to 5 dims in its own order.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// How cuDNN sees one tensor of a Candidate, and all Values that broadcast to it.
struct CudnnTensorView {
  Dims dims;                             // of the tensor, padding included
  std::vector<int> order;                // its dims in memory, from outer to inner
  std::vector<std::vector<int>> groups;  // which of them each of cuDNN's dims spans, neighbours in
                                         // memory from outer to inner; none: extent 1
  int channel_dim = -1;                  // the dim whose extent holds padding, -1: none does
  int64_t channels = 0;                  // its extent without padding
};

// N, C and the spatial dims of rank 3 to 5; a lone spatial dim is the last of two. Channels-last.
CudnnTensorView ImageView(absl::Span<const int64_t> dims, int64_t padded_channels);
// Batch, rows, columns of rank ≥ 2; columns, rows where `is_transposed`. Row-major.
CudnnTensorView MatrixView(absl::Span<const int64_t> dims, bool is_transposed);
// Any rank up to 5, row-major or channels-last: the innermost dim is cuDNN's C, whatever it means.
CudnnTensorView PlainView(absl::Span<const int64_t> dims, bool is_channels_last);
// A row-major tensor of which a reduction leaves the dims `reduced`, 1 where it reduces: runs of
// dims that it treats alike are one, the innermost is cuDNN's C.
CudnnTensorView ReducedView(absl::Span<const int64_t> dims, absl::Span<const int64_t> reduced);
// Rows, then what is normalized but its last dim where `axis` is not that one, then the last dim.
CudnnTensorView NormalizedView(absl::Span<const int64_t> dims, int axis);

struct TensorLayout {
  Dims dims, strides;
};

// A Value that broadcasts to the tensor, as it lies in `format`.
//   errors  Unimplemented: the Format has other axes, or another order, than the view
absl::StatusOr<TensorLayout> LayoutOf(const CudnnTensorView& view, absl::Span<const int64_t> dims,
                                      const Format& format);
// The Format of a constant beside the tensor: in its order, padded where it has the channels.
Format FormatBeside(const CudnnTensorView& view, absl::Span<const int64_t> dims);
// The whole tensor, dense.
TensorLayout WholeLayout(const CudnnTensorView& view);

}  // namespace onnx_cudnn

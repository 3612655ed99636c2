#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/ops/window.h"

namespace onnx_cudnn {

// The extents of x[images, groups * channels, …] * w[groups * filters, channels, …] = y[images,
// groups * filters, …]. A ConvTranspose has those of the convolution that it transposes: its output
// is x and its input y.
struct ConvShape {
  Window window;
  int64_t images = 0, groups = 1, channels = 0, filters = 0;

  int64_t rows() const { return channels * window.kernel_size(); }  // products summed per output
  int64_t in_size() const { return window.in_size(); }
  int64_t out_size() const { return window.out_size(); }
  int64_t multiply_adds() const { return images * groups * filters * rows() * out_size(); }
};

// The checks that Conv and ConvTranspose share: ranks, dtypes, group, window.
Support CheckConvolution(const Node& node);

// InvalidArgument if the dims contradict each other or the Node's attributes. `bias` is empty if
// absent.
absl::StatusOr<ConvShape> ConvShapeOf(const Node& node, absl::Span<const int64_t> x,
                                      absl::Span<const int64_t> w, absl::Span<const int64_t> bias,
                                      absl::Span<const int64_t> y);
absl::StatusOr<ConvShape> ConvTransposeShapeOf(const Node& node, absl::Span<const int64_t> x,
                                               absl::Span<const int64_t> w,
                                               absl::Span<const int64_t> bias,
                                               absl::Span<const int64_t> y);
// The shape of a static Conv or ConvTranspose.
absl::StatusOr<ConvShape> StaticConvShape(const Node& node);

// Whether the weight of a Conv or ConvTranspose and its bias, where it has one, are constants.
bool HasConstantWeights(const Node& node);

}  // namespace onnx_cudnn

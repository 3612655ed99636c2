// The window of convolutions and pooling over the spatial axes, from resolved attributes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// One axis. Position k of the window for output o is at o * stride + k * dilation - pad_begin of
// the input, which may be outside [0, in).
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t At(int64_t o, int64_t k) const { return o * stride + k * dilation - pad_begin; }
  bool Inside(int64_t i) const { return i >= 0 && i < in; }
  // The outputs whose position k is inside the input: [first, last), within [0, out).
  int64_t First(int64_t k) const {
    const int64_t before = pad_begin - k * dilation;
    return before <= 0 ? 0 : std::min(out, (before + stride - 1) / stride);
  }
  int64_t Last(int64_t k) const {
    const int64_t room = in - 1 + pad_begin - k * dilation;
    return room < 0 ? First(k) : std::max(First(k), std::min(out, room / stride + 1));
  }
  bool trivial() const { return kernel == 1 && stride == 1 && !has_padding(); }
  bool has_padding() const { return pad_begin != 0 || pad_end != 0; }
};

// Depth, height and width; missing leading axes of 1-D and 2-D windows have extent 1.
struct Window {
  std::array<WindowAxis, 3> axes;

  const WindowAxis& d() const { return axes[0]; }
  const WindowAxis& h() const { return axes[1]; }
  const WindowAxis& w() const { return axes[2]; }
  int64_t in_size() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out_size() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t kernel_size() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  bool trivial() const { return axes[0].trivial() && axes[1].trivial() && axes[2].trivial(); }
  bool has_padding() const {
    return axes[0].has_padding() || axes[1].has_padding() || axes[2].has_padding();
  }
  int64_t out_rows() const { return d().out * h().out; }
  // Calls f(kernel_row, in_row) for the kernel rows that overlap an input row at output row
  // `out_row`. Rows are counted over depth and height.
  template <typename F>
  void ForEachRow(int64_t out_row, F&& f) const {
    for (int64_t k = 0; k < d().kernel * h().kernel; ++k) {
      const int64_t in_d = d().At(out_row / h().out, k / h().kernel);
      const int64_t in_h = h().At(out_row % h().out, k % h().kernel);
      if (d().Inside(in_d) && h().Inside(in_h)) f(k, in_d * h().in + in_h);
    }
  }
};

inline constexpr int kMaxSpatialRank = 3;

// Whether kernel_shape, strides, dilations, pads, auto_pad (and output_padding, output_shape) of
// `node` are well formed for input 0 of rank 2 + spatial axes: lists have the required length,
// values are in range.
Support CheckWindow(const Node& node);

// The window of a convolution or pooling from in[N,C,spatial…] to out[N,M,spatial…]. CheckWindow
// accepts the Node.
//   kernel  extents of the spatial axes
//   errors  InvalidArgument: `out` does not follow from attributes, `in` and `kernel`
absl::StatusOr<Window> MakeWindow(const Node& node, absl::Span<const int64_t> in,
                                  absl::Span<const int64_t> kernel, absl::Span<const int64_t> out);

// The window of the convolution that `node` (ConvTranspose) transposes: it slides over the Node's
// output `large` [N,M,spatial…] and computes the Node's input `small` [N,C,spatial…].
absl::StatusOr<Window> MakeTransposedWindow(const Node& node, absl::Span<const int64_t> small,
                                            absl::Span<const int64_t> kernel,
                                            absl::Span<const int64_t> large);

}  // namespace onnx_cudnn

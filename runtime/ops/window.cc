#include "runtime/ops/window.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {
namespace {

// Above any real extent, and small enough that products of two and sums of several cannot overflow.
constexpr int64_t kMaxAttribute = int64_t{1} << 30;
constexpr int64_t kMaxExtent = int64_t{1} << 32;  // empty tensors may have any extent

Support CheckList(const Node& node, std::string_view name, size_t length, int64_t min) {
  const std::vector<int64_t> values = node.attrs().Ints(name);
  if (values.empty()) return Support::Yes();
  if (values.size() != length) {
    return Support::No(
        absl::StrFormat("%s has %d values, expected %d", name, values.size(), length));
  }
  for (int64_t v : values) {
    if (v < min || v > kMaxAttribute) {
      return Support::No(absl::StrFormat("%s holds %d, expected %d to 2^30", name, v, min));
    }
  }
  return Support::Yes();
}

bool IsSame(std::string_view auto_pad) {
  return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
}

// Splits `total` padding of an axis according to auto_pad.
void SplitPadding(WindowAxis& axis, int64_t total, bool lower) {
  total = std::max<int64_t>(total, 0);
  axis.pad_begin = lower ? total - total / 2 : total / 2;
  axis.pad_end = total - axis.pad_begin;
}

int64_t Span(const WindowAxis& axis) { return (axis.kernel - 1) * axis.dilation + 1; }

// Sets everything except `in`, `out` and the padding of auto_pad.
WindowAxis AxisOf(const Node& node, size_t spatial, size_t i, int64_t kernel) {
  const std::vector<int64_t> strides = node.attrs().Ints("strides");
  const std::vector<int64_t> dilations = node.attrs().Ints("dilations");
  const std::vector<int64_t> pads = node.attrs().Ints("pads");
  const bool explicit_pads = node.attrs().String("auto_pad", "NOTSET") == "NOTSET" && !pads.empty();
  WindowAxis axis;
  axis.kernel = kernel;
  axis.stride = strides.empty() ? 1 : strides[i];
  axis.dilation = dilations.empty() ? 1 : dilations[i];
  axis.pad_begin = explicit_pads ? pads[i] : 0;
  axis.pad_end = explicit_pads ? pads[spatial + i] : 0;
  return axis;
}

// The output extent by ONNX's rule; < 1 if the window does not fit.
int64_t OutExtent(const WindowAxis& axis, bool ceil_mode) {
  const int64_t room = axis.in + axis.pad_begin + axis.pad_end - Span(axis);
  // A window may extend beyond the input.
  const int64_t reach = ceil_mode ? room + axis.stride - 1 : room;
  if (reach < 0) return 0;
  const int64_t out = reach / axis.stride + 1;
  const bool starts_behind = ceil_mode && (out - 1) * axis.stride >= axis.in + axis.pad_begin;
  return starts_behind ? out - 1 : out;
}

absl::Status WrongExtent(size_t axis, int64_t found, int64_t expected) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "spatial axis %d of the output has extent %d, the window gives %d", axis, found, expected));
}

absl::Status CheckRanks(absl::Span<const int64_t> in, absl::Span<const int64_t> kernel,
                        absl::Span<const int64_t> out) {
  if (in.size() == out.size() && in.size() == kernel.size() + 2) {
    for (absl::Span<const int64_t> dims : {in, out}) {
      for (int64_t d : dims) {
        if (d > kMaxExtent)
          return absl::InvalidArgumentError(absl::StrCat(ToString(dims), " has a too large axis"));
      }
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("input ", ToString(in), ", kernel ",
                                                 ToString(kernel), " and output ", ToString(out),
                                                 " do not agree in rank"));
}

absl::Status CheckKernel(absl::Span<const int64_t> kernel) {
  for (int64_t k : kernel) {
    if (k < 1 || k > kMaxAttribute) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel ", ToString(kernel), " has an empty or too large axis"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Support CheckWindow(const Node& node) {
  const int spatial = node.input(0).rank() - 2;
  if (spatial < 1 || spatial > kMaxSpatialRank) {
    return Support::No(
        absl::StrFormat("input 0 has rank %d, expected 3 to %d", spatial + 2, kMaxSpatialRank + 2));
  }
  const std::string auto_pad = node.attrs().String("auto_pad", "NOTSET");
  if (!IsSame(auto_pad) && auto_pad != "VALID" && auto_pad != "NOTSET") {
    return Support::No(absl::StrCat("auto_pad is \"", auto_pad, "\""));
  }
  struct List {
    const char* name;
    int length;
    int64_t min;
  };
  for (const List& list : {List{"kernel_shape", spatial, 1},
                           {"strides", spatial, 1},
                           {"dilations", spatial, 1},
                           {"pads", 2 * spatial, 0},
                           {"output_padding", spatial, 0},
                           {"output_shape", spatial, 0}}) {
    if (Support s = CheckList(node, list.name, list.length, list.min); !s) return s;
  }
  return Support::Yes();
}

absl::StatusOr<Window> MakeWindow(const Node& node, absl::Span<const int64_t> in,
                                  absl::Span<const int64_t> kernel, absl::Span<const int64_t> out) {
  if (absl::Status s = CheckRanks(in, kernel, out); !s.ok()) return s;
  if (absl::Status s = CheckKernel(kernel); !s.ok()) return s;
  const std::string auto_pad = node.attrs().String("auto_pad", "NOTSET");
  const bool ceil_mode = node.attrs().Int("ceil_mode", 0) != 0;
  const size_t spatial = kernel.size();
  Window window;
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis axis = AxisOf(node, spatial, i, kernel[i]);
    axis.in = in[i + 2];
    if (IsSame(auto_pad)) {
      const int64_t wanted = (axis.in + axis.stride - 1) / axis.stride;
      SplitPadding(axis, (wanted - 1) * axis.stride + Span(axis) - axis.in,
                   auto_pad == "SAME_LOWER");
    }
    axis.out = OutExtent(axis, ceil_mode);
    if (axis.out != out[i + 2]) return WrongExtent(i, out[i + 2], axis.out);
    window.axes[kMaxSpatialRank - spatial + i] = axis;
  }
  return window;
}

absl::StatusOr<Window> MakeTransposedWindow(const Node& node, absl::Span<const int64_t> small,
                                            absl::Span<const int64_t> kernel,
                                            absl::Span<const int64_t> large) {
  if (absl::Status s = CheckRanks(small, kernel, large); !s.ok()) return s;
  if (absl::Status s = CheckKernel(kernel); !s.ok()) return s;
  const std::string auto_pad = node.attrs().String("auto_pad", "NOTSET");
  const std::vector<int64_t> extra = node.attrs().Ints("output_padding");
  const std::vector<int64_t> output_shape = node.attrs().Ints("output_shape");
  const bool has_output_shape = !output_shape.empty();
  const size_t spatial = kernel.size();
  Window window;
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis axis = AxisOf(node, spatial, i, kernel[i]);
    axis.in = large[i + 2];
    axis.out = small[i + 2];
    const int64_t full = axis.stride * (axis.out - 1) + (extra.empty() ? 0 : extra[i]) + Span(axis);
    int64_t expected = full - axis.pad_begin - axis.pad_end;
    if (has_output_shape || IsSame(auto_pad)) {
      expected = has_output_shape ? output_shape[i] : axis.stride * axis.out;
      // ONNX puts the odd element at the end for SAME_UPPER, otherwise at the beginning.
      SplitPadding(axis, full - expected, auto_pad != "SAME_UPPER");
    }
    if (axis.in != expected) return WrongExtent(i, axis.in, expected);
    window.axes[kMaxSpatialRank - spatial + i] = axis;
  }
  return window;
}

}  // namespace onnx_cudnn

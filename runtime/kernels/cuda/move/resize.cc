#include "runtime/kernels/cuda/move/resize.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/resize_axis.h"
#include "runtime/ops/saturate.h"

namespace onnx_cudnn {
namespace {

enum Input { kData, kRoi, kScales, kSizes };

ResizeCoordinates CoordinatesOf(const std::string& mode) {
  if (mode == "half_pixel_symmetric") return ResizeCoordinates::kHalfPixelSymmetric;
  if (mode == "pytorch_half_pixel") return ResizeCoordinates::kPytorchHalfPixel;
  if (mode == "align_corners") return ResizeCoordinates::kAlignCorners;
  if (mode == "asymmetric") return ResizeCoordinates::kAsymmetric;
  if (mode == "tf_half_pixel_for_nn") return ResizeCoordinates::kHalfPixelForNearest;
  return mode == "tf_crop_and_resize" ? ResizeCoordinates::kCrop : ResizeCoordinates::kHalfPixel;
}

uint64_t BitsOf(DType dtype, float number) {
  return VisitElementType(dtype, [&](auto tag) {
    using E = decltype(tag);
    E element = {};
    if constexpr (std::is_integral_v<E>) {
      element = Saturate<E>(number);
    } else {
      element = Narrow<E>(number);
    }
    uint64_t bits = 0;
    std::memcpy(&bits, &element, sizeof(element));
    return bits;
  });
}

ResizeOptions OptionsOf(const Attrs& attrs, DType dtype) {
  ResizeOptions options{.cubic_a = attrs.Float("cubic_coeff_a", -0.75F),
                        .outside = attrs.Float("extrapolation_value", 0),
                        .antialias = attrs.Int("antialias", 0) != 0,
                        .exclude_outside = attrs.Int("exclude_outside", 0) != 0};
  options.outside_bits = BitsOf(dtype, options.outside);
  const std::string mode = attrs.String("mode", "nearest");
  if (mode == "linear") options.kind = ResizeKind::kLinear;
  if (mode == "cubic") options.kind = ResizeKind::kCubic;
  options.coordinates = CoordinatesOf(attrs.String("coordinate_transformation_mode", "half_pixel"));
  const std::string nearest = attrs.String("nearest_mode", "round_prefer_floor");
  if (nearest == "round_prefer_ceil") options.rounding = ResizeRounding::kPreferCeil;
  if (nearest == "floor") options.rounding = ResizeRounding::kFloor;
  if (nearest == "ceil") options.rounding = ResizeRounding::kCeil;
  const std::string policy = attrs.String("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger") options.policy = ResizePolicy::kNotLarger;
  if (policy == "not_smaller") options.policy = ResizePolicy::kNotSmaller;
  return options;
}

bool HasElements(const Node& node, int input) {
  return node.has_input(input) && node.input(input).elements() > 0;
}

absl::Status CheckCount(const char* what, int64_t found, size_t expected) {
  if (found == static_cast<int64_t>(expected)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s has %d values, expected %d", what, found, expected));
}

absl::StatusOr<ResizeScales> ScalesOf(const Node& node, const ResizeOptions& options, size_t axes,
                                      Operands& operands) {
  const Slot nowhere = Slot::Workspace();
  ResizeScales scales{.scales = nowhere, .sizes = nowhere, .roi = nowhere};
  scales.axes = static_cast<int>(axes);
  scales.has_scales = HasElements(node, kScales);
  if (scales.has_scales) {
    RETURN_IF_ERROR(CheckCount("scales", node.input(kScales).elements(), axes));
    scales.scales = operands.Of(node.input(kScales)).slot;
  } else {
    const int64_t count = HasElements(node, kSizes) ? node.input(kSizes).elements() : 0;
    RETURN_IF_ERROR(CheckCount("sizes", count, axes));
    scales.sizes = operands.Of(node.input(kSizes)).slot;
  }
  if (options.coordinates != ResizeCoordinates::kCrop) return scales;
  const int64_t count = node.has_input(kRoi) ? node.input(kRoi).elements() : 0;
  RETURN_IF_ERROR(CheckCount("roi", count, 2 * axes));
  scales.has_roi = true;
  scales.roi = operands.Of(node.input(kRoi)).slot;
  scales.roi_dtype = node.input(kRoi).dtype();
  return scales;
}

// Limit for the inputs of an output. Only the device knows the scale itself; the output's extent is
// the product with the input's, rounded up or down.
int MostTaps(const ResizeOptions& options, int64_t in, int64_t out) {
  if (options.kind == ResizeKind::kNearest) return 1;
  const int radius = options.kind == ResizeKind::kCubic ? 2 : 1;
  if (!options.antialias) return 2 * radius;
  const double least = std::max(0.0, (static_cast<double>(out) - 1.01) / static_cast<double>(in));
  const double most = 2.0 * static_cast<double>(in) + radius;
  const double half = least > 0 ? std::min(most, radius / std::min(1.0, least) + 1) : most;
  return 2 * static_cast<int>(half);
}

std::vector<ResizeDim> DimsOf(const KernelOperand& x, const KernelOperand& y,
                              const ResizeOptions& options, const std::vector<int64_t>& axes) {
  const Strides from = StridesOf(x), to = StridesOf(y);
  std::vector<int> order(from.rank);
  std::iota(order.begin(), order.end(), 0);
  const Dims dims = y.dims();
  if (y.format != Format::RowMajor(dims))
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  std::vector<ResizeDim> resized;
  for (const int d : order) {
    ResizeDim dim{.in = static_cast<int>(from.dims[d]),
                  .out = static_cast<int>(to.dims[d]),
                  .in_stride = from.strides[d],
                  .out_stride = to.strides[d]};
    const auto it = std::find(axes.begin(), axes.end(), d);
    if (it != axes.end()) dim.scale = static_cast<int>(it - axes.begin());
    if (it != axes.end()) dim.most_taps = MostTaps(options, from.dims[d], to.dims[d]);
    resized.push_back(dim);
  }
  return resized;
}

absl::Status CheckDims(const Value& x, const Value& y, const std::vector<int64_t>& axes) {
  for (int i = 0; i < x.rank(); ++i) {
    const bool listed = std::find(axes.begin(), axes.end(), i) != axes.end();
    const bool fits = x.dim(i) <= kLongestRow && y.dim(i) <= kLongestRow;
    if (x.dim(i) != 0 && fits && (listed || x.dim(i) == y.dim(i))) continue;
    const Dims from = x.dims(), to = y.dims();
    return absl::InvalidArgumentError(absl::StrFormat("input %s cannot be resized to %s",
                                                      ToString(absl::MakeConstSpan(from)),
                                                      ToString(absl::MakeConstSpan(to))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelCode> CompileResize(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand y = operands.Of(node.output(0));
  const Value& data = node.input(kData);
  const bool follows = node.input(kData).is_constant() && y.format != Format::RowMajor(y.dims());
  const Dims dims = data.dims();
  const KernelOperand x =
      follows ? OperandIn(operands, request, data, Format::ChannelsLast(dims)) : operands.Of(data);
  ResizeOptions options = OptionsOf(node.attrs(), data.dtype());
  options.multiprocessors = request.target.info.multiprocessors;
  const std::vector<int64_t> axes = ResizedAxes(node, data.rank());
  ASSIGN_OR_RETURN(const ResizeScales scales, ScalesOf(node, options, axes.size(), operands));
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  if (axes.empty()) return absl::InvalidArgumentError("a scalar cannot be resized");
  RETURN_IF_ERROR(CheckDims(data, node.output(0), axes));
  if (y.has_padding()) {
    code.calls.push_back(KernelCall::Fill(y.slot, 0, y.format.bytes(y.dtype())));
  }
  ResizeCalls made =
      MakeResize(y.dtype(), DimsOf(x, y, options, axes), options, scales, x.slot, y.slot);
  std::move(made.calls.begin(), made.calls.end(), std::back_inserter(code.calls));
  code.workspace_bytes = made.workspace_bytes;
  return code;
}

}  // namespace onnx_cudnn

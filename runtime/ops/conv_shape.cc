#include "runtime/ops/conv_shape.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

absl::Status CheckKernelShape(const Node& node, absl::Span<const int64_t> w) {
  const std::vector<int64_t> stated = node.attrs().Ints("kernel_shape");
  if (stated.empty()) return absl::OkStatus();
  return ExpectDims("kernel_shape", stated, w.subspan(2));
}

absl::Status CheckBias(absl::Span<const int64_t> bias, int64_t filters) {
  return bias.empty() ? absl::OkStatus() : ExpectDims("bias", bias, {filters});
}

absl::Status CheckRanks(absl::Span<const int64_t> x, absl::Span<const int64_t> w,
                        absl::Span<const int64_t> y) {
  if (x.size() >= 3 && w.size() == x.size() && y.size() == x.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", ToString(x), ", weight ", ToString(w),
                                                 " and output ", ToString(y),
                                                 " do not agree in rank"));
}

absl::Status CheckDivides(const char* what, int64_t extent, int64_t groups) {
  if (extent % groups == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%d %s are not a multiple of %d groups", extent, what, groups));
}

// What convolutions and transposed ones have in common.
absl::StatusOr<ConvShape> StartShape(const Node& node, absl::Span<const int64_t> x,
                                     absl::Span<const int64_t> w, absl::Span<const int64_t> y) {
  RETURN_IF_ERROR(CheckRanks(x, w, y));
  RETURN_IF_ERROR(CheckKernelShape(node, w));
  ConvShape shape;
  shape.groups = node.attrs().Int("group", 1);
  shape.images = x[0];
  shape.channels = w[1];
  return shape;
}

}  // namespace

Support CheckConvolution(const Node& node) {
  if (Support s = CheckSameDType(node, 3); !s) return s;
  if (Support s = CheckWindow(node); !s) return s;
  const int64_t group = node.attrs().Int("group", 1);
  if (group < 1) return Support::No(absl::StrFormat("group is %d", group));
  if (node.has_input(2) && node.input(2).rank() != 1) {
    return Support::No(absl::StrFormat("bias has rank %d, expected 1", node.input(2).rank()));
  }
  if (node.input(1).rank() == node.input(0).rank()) return Support::Yes();
  return Support::No(absl::StrFormat("weight has rank %d, input has rank %d", node.input(1).rank(),
                                     node.input(0).rank()));
}

absl::StatusOr<ConvShape> ConvShapeOf(const Node& node, absl::Span<const int64_t> x,
                                      absl::Span<const int64_t> w, absl::Span<const int64_t> bias,
                                      absl::Span<const int64_t> y) {
  ASSIGN_OR_RETURN(ConvShape shape, StartShape(node, x, w, y));
  RETURN_IF_ERROR(CheckDivides("filters", w[0], shape.groups));
  RETURN_IF_ERROR(CheckBias(bias, w[0]));
  if (w[1] * shape.groups != x[1]) {
    return absl::InvalidArgumentError(
        absl::StrFormat("weight %s expects %d input channels (%d x %d groups), input is %s",
                        ToString(w), w[1] * shape.groups, w[1], shape.groups, ToString(x)));
  }
  if (y[0] != x[0] || y[1] != w[0]) {
    return absl::InvalidArgumentError(
        absl::StrFormat("output is %s, expected [%d,%d,…]", ToString(y), x[0], w[0]));
  }
  shape.filters = w[0] / shape.groups;
  ASSIGN_OR_RETURN(shape.window, MakeWindow(node, x, w.subspan(2), y));
  RETURN_IF_ERROR(CheckExtents(shape.filters, shape.out_size(), shape.rows()));
  return shape;
}

absl::StatusOr<ConvShape> ConvTransposeShapeOf(const Node& node, absl::Span<const int64_t> x,
                                               absl::Span<const int64_t> w,
                                               absl::Span<const int64_t> bias,
                                               absl::Span<const int64_t> y) {
  ASSIGN_OR_RETURN(ConvShape shape, StartShape(node, x, w, y));
  RETURN_IF_ERROR(CheckDivides("input channels", x[1], shape.groups));
  RETURN_IF_ERROR(CheckBias(bias, w[1] * shape.groups));
  if (w[0] != x[1]) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "weight %s expects %d input channels, input is %s", ToString(w), w[0], ToString(x)));
  }
  if (y[0] != x[0] || y[1] != w[1] * shape.groups) {
    return absl::InvalidArgumentError(absl::StrFormat("output is %s, expected [%d,%d,…]",
                                                      ToString(y), x[0], w[1] * shape.groups));
  }
  shape.filters = x[1] / shape.groups;
  ASSIGN_OR_RETURN(shape.window, MakeTransposedWindow(node, x, w.subspan(2), y));
  RETURN_IF_ERROR(CheckExtents(shape.filters, shape.out_size(), shape.rows()));
  return shape;
}

absl::StatusOr<ConvShape> StaticConvShape(const Node& node) {
  const Dims bias = node.has_input(2) ? node.input(2).dims() : Dims();
  const Dims x = node.input(0).dims(), w = node.input(1).dims(), y = node.output(0).dims();
  if (node.op() == "ConvTranspose") return ConvTransposeShapeOf(node, x, w, bias, y);
  return ConvShapeOf(node, x, w, bias, y);
}

bool HasConstantWeights(const Node& node) {
  return node.input(1).is_constant() && (!node.has_input(2) || node.input(2).is_constant());
}

}  // namespace onnx_cudnn

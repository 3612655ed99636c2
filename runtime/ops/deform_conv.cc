// DeformConv with two spatial axes: a product of the weights with columns of sampled inputs.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_shape.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr int kOffset = 2, kBias = 3, kMask = 4;

// Bilinear interpolation between four neighbours; those outside are 0.
template <typename T>
T SampleAt(const T* plane, int64_t height, int64_t width, T h, T w) {
  if (!(h > -1 && w > -1 && h < static_cast<T>(height) && w < static_cast<T>(width))) return 0;
  const int64_t top = static_cast<int64_t>(std::floor(h)),
                left = static_cast<int64_t>(std::floor(w));
  const T down = h - static_cast<T>(top), right = w - static_cast<T>(left);
  const auto at = [&](int64_t row, int64_t column) {
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    return inside ? plane[row * width + column] : T{0};
  };
  return (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
         down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
}

template <typename T>
class DeformConvolution {
 public:
  DeformConvolution(const ReferenceArgs& args, const ConvShape& shape)
      : args_(args),
        shape_(shape),
        outs_(shape.out_size()),
        kernel_(shape.window.kernel_size()),
        offset_groups_(args.node.attrs().Int("offset_group", 1)),
        columns_(static_cast<T*>(args.workspace)) {}

  void Run() {
    for (int64_t image = 0; image < shape_.images; ++image) {
      args_.threads.ParallelFor(channels() * kernel_, GrainFor(16 * outs_),
                                [&](int64_t row, int64_t end) {
                                  for (; row < end; ++row) FillRow(image, row);
                                });
      for (int64_t group = 0; group < shape_.groups; ++group) Multiply(image, group);
    }
  }

 private:
  int64_t channels() const { return shape_.groups * shape_.channels; }
  const T* In(int i) const { return static_cast<const T*>(args_.in[i].data); }

  // columns[row = (channel, kernel position), o] = mask * x at its offset position.
  void FillRow(int64_t image, int64_t row) {
    const WindowAxis &h = shape_.window.h(), &w = shape_.window.w();
    const int64_t channel = row / kernel_, k = row % kernel_;
    const int64_t group = image * offset_groups_ + channel / (channels() / offset_groups_);
    const T* plane = In(0) + (image * channels() + channel) * shape_.in_size();
    const T* offset = In(kOffset) + (group * kernel_ + k) * 2 * outs_;
    const T* mask = args_.has_in(kMask) ? In(kMask) + (group * kernel_ + k) * outs_ : nullptr;
    for (int64_t o = 0; o < outs_; ++o) {
      const T row_at = static_cast<T>(h.At(o / w.out, k / w.kernel)) + offset[o];
      const T column_at = static_cast<T>(w.At(o % w.out, k % w.kernel)) + offset[outs_ + o];
      const T value = SampleAt(plane, h.in, w.in, row_at, column_at);
      columns_[row * outs_ + o] = mask == nullptr ? value : value * mask[o];
    }
  }

  void Multiply(int64_t image, int64_t group) {
    const int64_t first = group * shape_.filters;
    T* y = static_cast<T*>(args_.out[0].data) +
           (image * shape_.groups * shape_.filters + first) * outs_;
    const bool has_bias = args_.has_in(kBias);
    for (int64_t m = 0; has_bias && m < shape_.filters; ++m)
      std::fill_n(y + m * outs_, outs_, In(kBias)[first + m]);
    Gemm(args_.threads, GemmProblem<T>{.m = shape_.filters,
                                       .n = outs_,
                                       .k = shape_.rows(),
                                       .a = In(1) + first * shape_.rows(),
                                       .lda = shape_.rows(),
                                       .b = columns_ + group * shape_.rows() * outs_,
                                       .ldb = outs_,
                                       .c = y,
                                       .ldc = outs_,
                                       .beta = has_bias ? T{1} : T{0}});
  }

  const ReferenceArgs& args_;
  const ConvShape& shape_;
  int64_t outs_, kernel_, offset_groups_;
  T* columns_;
};

absl::Status CheckOffsets(const ReferenceArgs& args, const ConvShape& shape) {
  const int64_t groups = args.node.attrs().Int("offset_group", 1);
  if (args.in[0].dims[1] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        args.in[0].dims[1], " input channels are not a multiple of ", groups, " offset groups"));
  }
  Dims dims(args.out[0].dims.begin(), args.out[0].dims.end());
  dims[1] = groups * shape.window.kernel_size();
  if (args.has_in(kMask)) RETURN_IF_ERROR(ExpectDims("mask", args.in[kMask].dims, dims));
  dims[1] *= 2;
  return ExpectDims("offset", args.in[kOffset].dims, dims);
}

absl::Status ReferenceDeformConv(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(
      const ConvShape shape,
      ConvShapeOf(args.node, args.in[0].dims, args.in[1].dims,
                  args.has_in(kBias) ? args.in[kBias].dims : absl::Span<const int64_t>(),
                  args.out[0].dims));
  RETURN_IF_ERROR(CheckOffsets(args, shape));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    DeformConvolution<decltype(type)>(args, shape).Run();
    return absl::OkStatus();
  });
}

Support CheckDeformConv(const Node& node) {
  if (node.input(0).rank() != 4 || node.input(1).rank() != 4)
    return Support::No("only two spatial axes are implemented");
  if (node.has_input(kBias) && node.input(kBias).rank() != 1)
    return Support::No(absl::StrCat("bias has rank ", node.input(kBias).rank()));
  if (node.attrs().Int("group", 1) < 1 || node.attrs().Int("offset_group", 1) < 1)
    return Support::No("group or offset_group is below 1");
  if (Support s = CheckSameDType(node, 5); !s) return s;
  return CheckWindow(node);
}

int64_t ColumnElements(const Node& node) {
  const Dims w = node.input(1).dims(), y = node.output(0).dims();
  return node.input(0).dim(1) * w[2] * w[3] * y[2] * y[3];
}

int64_t DeformConvWorkspace(const Node& node) {
  return WidenedBytes(node) + BytesOf(WideType(node.input(0).dtype()), ColumnElements(node));
}

Cost DeformConvCost(const Node& node) {
  constexpr int64_t kFlopsOfSample = 16;  // four weights, four neighbours
  const int64_t filters = std::max<int64_t>(1, node.output(0).dim(1));
  const int64_t products = 2 * node.input(1).elements() * (node.output(0).elements() / filters);
  const int64_t columns = node.input(0).dim(0) * ColumnElements(node);
  return {.flops = products + kFlopsOfSample * columns,
          .bytes = IoBytes(node) + 2 * BytesOf(WideType(node.input(0).dtype()), columns),
          .blas_flops = products};
}

}  // namespace

OpDef DeformConvOp() {
  return {.check = CheckDeformConv,
          .reference = Widened<ReferenceDeformConv>,
          .workspace = DeformConvWorkspace,
          .cost = DeformConvCost,
          .traits = {.has_window = true, .window_weight = 1}};
}

}  // namespace onnx_cudnn

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/conv_op.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/im2col.h"

namespace onnx_cudnn {
namespace {

// y = col2im(wᵀ x) + bias, one image and group at a time: `columns` is one product.
template <typename T>
void Transposed(const ReferenceArgs& args, const ConvShape& shape) {
  const T* x = static_cast<const T*>(args.in[0].data);
  const T* w = static_cast<const T*>(args.in[1].data);
  const T* bias = args.has_in(2) ? static_cast<const T*>(args.in[2].data) : nullptr;
  T* y = static_cast<T*>(args.out[0].data);
  T* columns = static_cast<T*>(args.workspace);
  const int64_t small = shape.out_size(), large = shape.in_size();
  for (int64_t i = 0; i < shape.images * shape.groups; ++i) {
    const int64_t g = i % shape.groups;
    Gemm(args.threads, GemmProblem<T>{.m = shape.rows(),
                                      .n = small,
                                      .k = shape.filters,
                                      .a = w + g * shape.filters * shape.rows(),
                                      .lda = shape.rows(),
                                      .transpose_a = true,
                                      .b = x + i * shape.filters * small,
                                      .ldb = small,
                                      .c = columns,
                                      .ldc = small});
    T* image = y + i * shape.channels * large;
    const int64_t work = shape.window.kernel_size() * small + large;
    args.threads.ParallelFor(shape.channels, GrainFor(work), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        std::fill_n(image + c * large, large,
                    bias == nullptr ? T{0} : bias[g * shape.channels + c]);
      }
      ColumnsToImage(shape.window, columns, begin, end, image);
    });
  }
}

absl::Status ReferenceConvTranspose(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(
      const ConvShape shape,
      ConvTransposeShapeOf(args.node, args.in[0].dims, args.in[1].dims,
                           args.has_in(2) ? args.in[2].dims : absl::Span<const int64_t>(),
                           args.out[0].dims));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    Transposed<decltype(type)>(args, shape);
    return absl::OkStatus();
  });
}

int64_t ConvTransposeWorkspace(const Node& node) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(node);
  const int64_t columns = shape.ok() ? shape->rows() * shape->out_size() : 0;
  return WidenedBytes(node) + BytesOf(WideType(node.input(0).dtype()), columns);
}

Cost ConvTransposeCost(const Node& node) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(node);
  if (!shape.ok()) return {.bytes = IoBytes(node)};
  const int64_t flops = 2 * shape->multiply_adds();
  const int64_t columns = shape->images * shape->groups * shape->rows() * shape->out_size();
  const int64_t column_bytes = BytesOf(WideType(node.input(0).dtype()), columns);
  return {.flops = flops, .bytes = IoBytes(node) + 3 * column_bytes, .blas_flops = flops};
}

}  // namespace

OpDef ConvTransposeOp() {
  return ConvolutionOp<ReferenceConvTranspose>(ConvTransposeWorkspace, ConvTransposeCost);
}

}  // namespace onnx_cudnn

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/product_op.h"

namespace onnx_cudnn {
namespace {

struct GemmShape {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  int64_t c_row_step = 0, c_column_step = 0;  // strides of C broadcast to [m,n]
};

absl::Status BroadcastC(absl::Span<const int64_t> c, GemmShape& shape) {
  const int64_t rows = c.size() < 2 ? 1 : c[0], columns = c.empty() ? 1 : c.back();
  if (c.size() > 2 || (rows != 1 && rows != shape.m) || (columns != 1 && columns != shape.n)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "C is %s, which does not broadcast to [%d,%d]", ToString(c), shape.m, shape.n));
  }
  shape.c_row_step = rows == 1 ? 0 : columns;
  shape.c_column_step = columns == 1 ? 0 : 1;
  return absl::OkStatus();
}

absl::StatusOr<GemmShape> GemmShapeOf(const ReferenceArgs& args) {
  const absl::Span<const int64_t> a = args.in[0].dims, b = args.in[1].dims;
  if (a.size() != 2 || b.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("A is ", ToString(a), ", B is ", ToString(b), ", expected matrices"));
  }
  GemmShape shape = {.transpose_a = args.node.attrs().Int("transA", 0) != 0,
                     .transpose_b = args.node.attrs().Int("transB", 0) != 0};
  shape.m = a[shape.transpose_a ? 1 : 0];
  shape.k = a[shape.transpose_a ? 0 : 1];
  shape.n = b[shape.transpose_b ? 0 : 1];
  if (shape.k != b[shape.transpose_b ? 1 : 0]) {
    return absl::InvalidArgumentError(
        absl::StrCat("A is ", ToString(a), ", B is ", ToString(b), ", their inner extents differ"));
  }
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, {shape.m, shape.n}));
  if (args.has_in(2)) RETURN_IF_ERROR(BroadcastC(args.in[2].dims, shape));
  RETURN_IF_ERROR(CheckExtents(shape.m, shape.n, shape.k));
  return shape;
}

// ONNX's alpha and beta are floats also for integers: a factor of 1 is exact; CheckGemm refuses any
// other.
template <typename T>
void IntegerGemm(const ReferenceArgs& args, const GemmShape& s) {
  using Sum = AccumulatorOf<T>;
  const T* a = static_cast<const T*>(args.in[0].data);
  const T* b = static_cast<const T*>(args.in[1].data);
  const T* c = args.has_in(2) ? static_cast<const T*>(args.in[2].data) : nullptr;
  T* y = static_cast<T*>(args.out[0].data);
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_column = s.transpose_a ? s.m : 1;
  const int64_t b_row = s.transpose_b ? 1 : s.n, b_column = s.transpose_b ? s.k : 1;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      Sum sum = c == nullptr ? 0 : static_cast<Sum>(c[i * s.c_row_step + j * s.c_column_step]);
      for (int64_t k = 0; k < s.k; ++k) {
        sum += static_cast<Sum>(a[i * a_row + k * a_column]) *
               static_cast<Sum>(b[k * b_row + j * b_column]);
      }
      y[i * s.n + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
void FloatGemm(const ReferenceArgs& args, const GemmShape& s) {
  const T* c = args.has_in(2) ? static_cast<const T*>(args.in[2].data) : nullptr;
  T* y = static_cast<T*>(args.out[0].data);
  if (c != nullptr) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) y[i * s.n + j] = c[i * s.c_row_step + j * s.c_column_step];
    }
  }
  Gemm(args.threads,
       GemmProblem<T>{.m = s.m,
                      .n = s.n,
                      .k = s.k,
                      .a = static_cast<const T*>(args.in[0].data),
                      .lda = s.transpose_a ? s.m : s.k,
                      .transpose_a = s.transpose_a,
                      .b = static_cast<const T*>(args.in[1].data),
                      .ldb = s.transpose_b ? s.k : s.n,
                      .transpose_b = s.transpose_b,
                      .c = y,
                      .ldc = s.n,
                      .alpha = args.node.attrs().Float("alpha", 1),
                      .beta = c == nullptr ? T{0} : T{args.node.attrs().Float("beta", 1)}});
}

absl::Status ReferenceGemm(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const GemmShape shape, GemmShapeOf(args));
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_floating_point_v<T>) {
      FloatGemm<T>(args, shape);
    } else {
      IntegerGemm<T>(args, shape);
    }
    return absl::OkStatus();
  });
}

Support CheckGemm(const Node& node) {
  const bool scales = node.attrs().Float("alpha", 1) != 1 || node.attrs().Float("beta", 1) != 1;
  if (scales && kIntegerTypes.Has(node.input(0).dtype())) {
    return Support::No("alpha and beta other than 1 on integers");
  }
  return CheckSameDType(node, 3);
}

Cost GemmCost(const Node& node) {
  const int64_t k = node.input(0).dim(node.attrs().Int("transA", 0) != 0 ? 0 : 1);
  return ProductCost(node, k);
}

}  // namespace

OpDef GemmOp() { return ProductOp<ReferenceGemm>(CheckGemm, GemmCost); }

}  // namespace onnx_cudnn

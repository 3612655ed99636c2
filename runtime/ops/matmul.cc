#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/product_op.h"

namespace onnx_cudnn {
namespace {

// Numpy's matrix product: batches of a[m,k] and b[k,n]. Product i reads the matrices a_of[i] and
// b_of[i].
struct MatMulShape {
  int64_t m = 1, n = 1, k = 1;
  std::vector<int64_t> a_of, b_of;
};

absl::Status CannotMultiply(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot multiply ", ToString(a), " by ", ToString(b)));
}

// For each matrix of the broadcast batch, its index in a batch of `dims`.
std::vector<int64_t> Broadcast(absl::Span<const int64_t> dims, absl::Span<const int64_t> stack) {
  std::vector<int64_t> index(ElementsOf(stack), 0);
  const size_t missing = stack.size() - dims.size();
  for (size_t i = 0; i < index.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), step = 1;
    for (size_t axis = stack.size(); axis-- > missing;) {
      const int64_t extent = dims[axis - missing];
      index[i] += extent == 1 ? 0 : rest % stack[axis] * step;
      rest /= stack[axis];
      step *= extent;
    }
  }
  return index;
}

absl::StatusOr<Dims> BroadcastStacks(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  Dims stack(std::max(a.size(), b.size()), 1);
  for (absl::Span<const int64_t> dims : {a, b}) {
    const size_t missing = stack.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t& extent = stack[missing + i];
      if (extent != 1 && dims[i] != 1 && extent != dims[i]) return CannotMultiply(a, b);
      if (dims[i] != 1) extent = dims[i];
    }
  }
  return stack;
}

absl::StatusOr<MatMulShape> MatMulShapeOf(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                                          absl::Span<const int64_t> y) {
  if (a.empty() || b.empty()) return CannotMultiply(a, b);
  MatMulShape shape;
  const absl::Span<const int64_t> a_stack = a.subspan(0, a.size() < 2 ? 0 : a.size() - 2);
  const absl::Span<const int64_t> b_stack = b.subspan(0, b.size() < 2 ? 0 : b.size() - 2);
  ASSIGN_OR_RETURN(Dims expected, BroadcastStacks(a_stack, b_stack));
  shape.k = a.back();
  if (shape.k != b[b.size() < 2 ? 0 : b.size() - 2]) return CannotMultiply(a, b);
  shape.a_of = Broadcast(a_stack, expected);
  shape.b_of = Broadcast(b_stack, expected);
  if (a.size() >= 2) expected.push_back(shape.m = a[a.size() - 2]);
  if (b.size() >= 2) expected.push_back(shape.n = b.back());
  RETURN_IF_ERROR(ExpectDims("output", y, expected));
  RETURN_IF_ERROR(CheckExtents(shape.m, shape.n, shape.k));
  return shape;
}

template <typename T>
void IntegerProduct(const GemmProblem<T>& p) {
  using Sum = AccumulatorOf<T>;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      Sum sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += static_cast<Sum>(p.a[i * p.lda + k]) * static_cast<Sum>(p.b[k * p.ldb + j]);
      p.c[i * p.ldc + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
void Products(const ReferenceArgs& args, const MatMulShape& shape) {
  const auto problem = [&](int64_t i) {
    return GemmProblem<T>{
        .m = shape.m,
        .n = shape.n,
        .k = shape.k,
        .a = static_cast<const T*>(args.in[0].data) + shape.a_of[i] * shape.m * shape.k,
        .lda = shape.k,
        .b = static_cast<const T*>(args.in[1].data) + shape.b_of[i] * shape.k * shape.n,
        .ldb = shape.n,
        .c = static_cast<T*>(args.out[0].data) + i * shape.m * shape.n,
        .ldc = shape.n};
  };
  const int64_t count = static_cast<int64_t>(shape.a_of.size());
  if constexpr (std::is_floating_point_v<T>) {
    GemmStack<T>(args.threads, count, problem);
  } else {
    args.threads.ParallelFor(count, GrainFor(shape.m * shape.n * shape.k),
                             [&](int64_t i, int64_t end) {
                               for (; i < end; ++i) IntegerProduct(problem(i));
                             });
  }
}

// A batch of matrices times one matrix is one tall product.
void FoldStack(MatMulShape& shape) {
  const bool one_b =
      std::all_of(shape.b_of.begin(), shape.b_of.end(), [](int64_t i) { return i == 0; });
  const int64_t count = static_cast<int64_t>(shape.a_of.size());
  if (count < 2 || !one_b || !CheckExtents(shape.m * count, shape.n, shape.k).ok()) return;
  for (int64_t i = 0; i < count; ++i) {
    if (shape.a_of[i] != i) return;
  }
  shape.m *= count;
  shape.a_of = shape.b_of = {0};
}

absl::Status ReferenceMatMul(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(MatMulShape shape,
                   MatMulShapeOf(args.in[0].dims, args.in[1].dims, args.out[0].dims));
  FoldStack(shape);
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    Products<decltype(type)>(args, shape);
    return absl::OkStatus();
  });
}

Support CheckMatMul(const Node& node) { return CheckSameDType(node, 2); }

Cost MatMulCost(const Node& node) {
  const Dims a = node.input(0).dims();
  const int64_t k = a.empty() ? 1 : a.back();
  return ProductCost(node, k);
}

}  // namespace

OpDef MatMulOp() { return ProductOp<ReferenceMatMul>(CheckMatMul, MatMulCost); }

}  // namespace onnx_cudnn

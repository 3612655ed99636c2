// Lowers ops on rows: products, normalizations, reductions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/lower_anchor.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

bool IsTransposed(const Node& product, const Value& operand) {
  if (product.op() != "Gemm") return false;
  return product.attrs().Int(&operand == &product.input(0) ? "transA" : "transB", 0) != 0;
}

CudnnTensorView BeforeProduct(const Node& product, const Value& operand, const GraphBuilder&) {
  return MatrixView(operand.dims(), IsTransposed(product, operand));
}
CudnnTensorView BehindProduct(const Node& product, const GraphBuilder&) {
  return MatrixView(product.output(0).dims(), /*is_transposed=*/false);
}

// The operations after a Gemm's product: y = ((alpha / beta) * product + c) * beta, without factors
// of 1. This way c, which may broadcast, is not an operand of a multiplication.
struct GemmTail {
  double before = 1, behind = 1;
  bool has_addend = false;
};
GemmTail TailOf(const Node& product) {
  if (product.op() != "Gemm") return {};
  const double alpha = product.attrs().Float("alpha", 1), beta = product.attrs().Float("beta", 1);
  if (!product.has_input(2) || beta == 0) return {.before = alpha};
  return {.before = alpha / beta, .behind = beta, .has_addend = true};
}

// Adds the operations after `tensor`, one at a time; the last one writes y.
absl::Status LowerTail(const Node& product, const GemmTail& tail, int tensor,
                       GraphBuilder& builder) {
  const CudnnTensorView view = BehindProduct(product, builder);
  const size_t rank = view.groups.size();
  std::vector<std::pair<PointwiseMode, int>> left;
  if (tail.before != 1) left.push_back({PointwiseMode::kMul, builder.Number(tail.before, rank)});
  if (tail.has_addend) {
    ASSIGN_OR_RETURN(const int c, builder.Read(product.input(2), view));
    left.push_back({PointwiseMode::kAdd, c});
  }
  if (tail.behind != 1) left.push_back({PointwiseMode::kMul, builder.Number(tail.behind, rank)});
  for (size_t i = 0; i < left.size(); ++i) {
    int out = -1;
    if (i + 1 < left.size()) {
      out = builder.Between(WholeLayout(view));
    } else {
      ASSIGN_OR_RETURN(out, builder.Write(product.output(0), view));
    }
    builder.Add({.in = {tensor, left[i].second}, .out = out, .mode = left[i].first});
    tensor = out;
  }
  return absl::OkStatus();
}

absl::Status LowerProduct(const Node& product, GraphBuilder& builder) {
  CudnnOperation operation{.kind = CudnnOperation::Kind::kProduct};
  for (int i = 0; i < 2; ++i) {
    const Value& operand = product.input(i);
    const CudnnTensorView view = BeforeProduct(product, operand, builder);
    ASSIGN_OR_RETURN(const int tensor, builder.Read(operand, view));
    operation.in.push_back(tensor);
  }
  const GemmTail tail = TailOf(product);
  const CudnnTensorView view = BehindProduct(product, builder);
  if (tail.before == 1 && !tail.has_addend) {
    ASSIGN_OR_RETURN(operation.out, builder.Write(product.output(0), view));
    builder.Add(std::move(operation));
    return absl::OkStatus();
  }
  const int out = operation.out = builder.Between(WholeLayout(view));
  builder.Add(std::move(operation));
  return LowerTail(product, tail, out, builder);
}

int NormalizedFrom(const Node& norm) {
  return static_cast<int>(NormalizedAxis(norm.attrs().Int("axis", -1), norm.input(0).rank()));
}

CudnnTensorView BehindNormalization(const Node& norm, const GraphBuilder&) {
  return NormalizedView(norm.output(0).dims(), NormalizedFrom(norm));
}
CudnnTensorView BeforeNormalization(const Node& norm, const Value&, const GraphBuilder& builder) {
  return BehindNormalization(norm, builder);
}

absl::Status LowerNormalization(const Node& norm, GraphBuilder& builder) {
  const CudnnTensorView view = BehindNormalization(norm, builder);
  const bool is_layer_norm = norm.op() == "LayerNormalization";
  CudnnOperation operation{.kind = is_layer_norm ? CudnnOperation::Kind::kLayerNorm
                                                 : CudnnOperation::Kind::kRmsNorm};
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(const int tensor, builder.Read(norm.input(i), view));
    operation.in.push_back(tensor);
  }
  const float epsilon = norm.attrs().Float("epsilon", 1e-5F);
  operation.in.push_back(builder.Number(epsilon, view.groups.size()));
  if (norm.has_input(2)) {
    ASSIGN_OR_RETURN(const int bias, builder.Read(norm.input(2), view));
    operation.in.push_back(bias);
  }
  ASSIGN_OR_RETURN(operation.out, builder.Write(norm.output(0), view));
  builder.Add(std::move(operation));
  return absl::OkStatus();
}

// The dims of the reduction's result, 1 along reduced dims.
absl::StatusOr<Dims> ReducedDims(const Node& reduction) {
  Dims dims = reduction.input(0).dims();
  std::vector<int64_t> axes;
  if (reduction.has_input(1)) {
    ASSIGN_OR_RETURN(axes, ToInts(reduction.input(1).constant()));
  }
  if (axes.empty() && reduction.attrs().Int("noop_with_empty_axes", 0) != 0) {
    return absl::UnimplementedError("it reduces over no axis");
  }
  if (axes.empty()) return Dims(dims.size(), 1);
  for (const int64_t axis : axes) dims[NormalizedAxis(axis, dims.size())] = 1;
  return dims;
}

CudnnTensorView BeforeReduction(const Node& reduction, const Value&, const GraphBuilder&) {
  const Dims dims = reduction.input(0).dims();
  return ReducedView(dims, ReducedDims(reduction).value_or(dims));
}
CudnnTensorView BehindReduction(const Node& reduction, const GraphBuilder&) {
  return PlainView(reduction.output(0).dims(), /*is_channels_last=*/false);
}

// The operations on elements before they are summed. cuDNN's engines support sum, maximum and
// minimum; nothing can follow a reduction, so a root of a sum is not supported.
absl::StatusOr<int> LowerTerms(const Node& reduction, int x, const CudnnTensorView& view,
                               GraphBuilder& builder) {
  const Dims dims = reduction.input(0).dims();
  CudnnOperation terms{.in = {x}, .mode = PointwiseMode::kAbs};
  if (reduction.op() == "ReduceMean") {
    const int64_t count = ElementsOf(dims) / reduction.output(0).elements();
    terms.in.push_back(builder.Number(1.0 / static_cast<double>(count), view.groups.size()));
    terms.mode = PointwiseMode::kMul;
  } else if (reduction.op() == "ReduceL2") {
    return absl::UnimplementedError("cuDNN takes no root behind a reduction");
  } else if (reduction.op() != "ReduceL1") {
    return x;
  }
  const int out = terms.out = builder.Between(WholeLayout(view));
  builder.Add(std::move(terms));
  return out;
}

absl::Status LowerReduction(const Node& reduction, GraphBuilder& builder) {
  const Value& x = reduction.input(0);
  ASSIGN_OR_RETURN(const Dims dims, ReducedDims(reduction));
  const CudnnTensorView view = ReducedView(x.dims(), dims);
  ASSIGN_OR_RETURN(const int read, builder.Read(x, view));
  ASSIGN_OR_RETURN(const int terms, LowerTerms(reduction, read, view, builder));
  CudnnOperation operation{.kind = CudnnOperation::Kind::kReduction, .in = {terms}};
  if (reduction.op() == "ReduceMax") operation.reduction = CudnnOperation::Reduction::kMax;
  if (reduction.op() == "ReduceMin") operation.reduction = CudnnOperation::Reduction::kMin;
  CudnnTensorView behind = view;
  behind.dims = dims;
  ASSIGN_OR_RETURN(operation.out, builder.WriteDense(reduction.output(0), behind));
  builder.Add(std::move(operation));
  return absl::OkStatus();
}

}  // namespace

Anchor ProductAnchor() { return {BeforeProduct, BehindProduct, LowerProduct}; }
Anchor NormalizationAnchor() {
  return {BeforeNormalization, BehindNormalization, LowerNormalization};
}
Anchor ReductionAnchor() { return {BeforeReduction, BehindReduction, LowerReduction}; }

}  // namespace onnx_cudnn

#include "runtime/gemm/cuda/lower.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/repacked.h"
#include "runtime/gemm/epilogue.h"
#include "runtime/plan/product.h"

namespace onnx_cudnn {
namespace {

const Node& AnchorOf(const Candidate& candidate) {
  const auto is_anchor = [](const Node* node) {
    return IsMatrixProduct(*node) || node->op() == "Conv";
  };
  return **std::find_if(candidate.nodes.begin(), candidate.nodes.end(), is_anchor);
}

int Find(const std::vector<const Value*>& values, const Value& value) {
  const auto it = std::find(values.begin(), values.end(), &value);
  return it == values.end() ? -1 : static_cast<int>(it - values.begin());
}

// Assigns pointers to the operands of a Candidate, and collects the constants that they need.
class Binder {
 public:
  explicit Binder(const Candidate& candidate)
      : candidate_(candidate), boundary_(BoundaryOf(candidate.nodes)) {}

  bool is_constant(const Value& value) const { return Find(boundary_.constants, value) >= 0; }
  const Format& output() const { return candidate_.outputs[0].format; }
  // The Format of an input of the Candidate.
  const Format& FormatOf(const Value& value) const {
    return candidate_.inputs[Find(boundary_.inputs, value)].format;
  }

  // A constant, viewed with `dims`, is packed to `format`.
  LtOperand Bind(const Value& value, absl::Span<const int64_t> dims, const Format& format) {
    const int input = Find(boundary_.inputs, value);
    if (input >= 0) return {LtOperand::Kind::kInput, input};
    constants_.push_back(Repacked(Find(boundary_.constants, value), dims, format));
    return {LtOperand::Kind::kConstant, static_cast<int>(constants_.size()) - 1};
  }
  LtOperand Bind(const Value& value) {
    return Bind(value, value.dims(), Format::RowMajor(value.dims()));
  }

  std::vector<Derived> TakeConstants() { return std::move(constants_); }

 private:
  const Candidate& candidate_;
  const Boundary boundary_;
  std::vector<Derived> constants_;
};

// One of the two factors of a MatMul or Gemm, row-major.
struct Factor {
  const Value* value;
  bool transposed;
  int64_t rows, columns;  // as stored
  bool is_shared;         // one matrix for the whole batch
};

Factor FactorOf(const Candidate& candidate, const Node& anchor, int index, int64_t batch) {
  const Value* value = &anchor.input(index);
  bool transposed =
      anchor.op() == "Gemm" && anchor.attrs().Int(index == 0 ? "transA" : "transB", 0) != 0;
  if (const Node* before = value->producer(); Contains(candidate.nodes, before)) {
    value = &before->input(0);  // the input of the Transpose
    transposed = !transposed;
  }
  const int64_t rows = value->dim(value->rank() - 2), columns = value->dim(value->rank() - 1);
  return {value, transposed, rows, columns, batch > 1 && value->elements() == rows * columns};
}

LtMatrix MatrixOf(const Factor& factor) {
  return {.rows = factor.columns,
          .columns = factor.rows,
          .leading = factor.columns,
          .batch_stride = factor.is_shared ? 0 : factor.rows * factor.columns};
}

// If the right factor is one matrix for the whole batch, all rows of the left factors form one
// matrix.
void FoldBatch(Product& product, Factor& left, Factor& right) {
  if (product.batch == 1 || !right.is_shared || left.is_shared || left.transposed) return;
  left.rows *= product.batch;
  product.rows *= product.batch;
  product.batch = 1;
  right.is_shared = false;
}

// A MatMul or Gemm and the Transposes before it.
void LowerMatrix(const Candidate& candidate, const Node& anchor, Binder& binder,
                 LtProblem& problem) {
  Product product = ProductOf(anchor);
  Factor left = FactorOf(candidate, anchor, 0, product.batch);
  Factor right = FactorOf(candidate, anchor, 1, product.batch);
  FoldBatch(product, left, right);
  problem.a = binder.Bind(*right.value);
  problem.b = binder.Bind(*left.value);
  problem.transposes_a = right.transposed;
  problem.transposes_b = left.transposed;
  problem.a_matrix = MatrixOf(right);
  problem.b_matrix = MatrixOf(left);
  problem.d_matrix = {.rows = product.columns,
                      .columns = product.rows,
                      .leading = product.columns,
                      .batch_stride = product.rows * product.columns};
  problem.batch = product.batch;
}

// Channels including padding, of a channels-last tensor.
int64_t ChannelLanes(const Format& format) {
  for (const Format::Axis& axis : format.axes()) {
    if (axis.dim == 1) return axis.extent;
  }
  return 1;
}

// [K,C,1,1] with both extents padded.
Format WeightFormat(const Value& w, int64_t filters, int64_t channels) {
  std::vector<Format::Axis> axes = {{0, 1, filters, filters}, {1, 1, channels, channels}};
  for (int dim = 2; dim < w.rank(); ++dim) axes.push_back({dim, 1, 1, 1});
  return Format::Of(std::move(axes));
}

// A 1×1 convolution: y[pixels, K] = x[pixels, C] · w[K, C]ᵀ. Padding channels of x are multiplied
// by zeros or not read; those of y result from zero rows of w.
void LowerPointConvolution(const Node& anchor, Binder& binder, LtProblem& problem) {
  const Value& x = anchor.input(0);
  const Value& w = anchor.input(1);
  const bool packs = binder.is_constant(w);
  const Format x_format =
      binder.is_constant(x) ? Format::ChannelsLast(x.dims()) : binder.FormatOf(x);
  const int64_t x_lanes = ChannelLanes(x_format);
  const int64_t depth = packs ? x_lanes : w.dim(1);
  const int64_t filters = ChannelLanes(binder.output());
  const int64_t pixels = x.elements() / x.dim(1);
  problem.a = binder.Bind(w, w.dims(), packs ? WeightFormat(w, filters, depth) : Format());
  problem.b = binder.Bind(x, x.dims(), x_format);
  problem.transposes_a = true;
  problem.a_matrix = {.rows = depth, .columns = filters, .leading = depth};
  problem.b_matrix = {.rows = depth, .columns = pixels, .leading = x_lanes};
  problem.d_matrix = {.rows = filters, .columns = pixels, .leading = filters};
}

// The dims of `value` with leading dims of 1 up to `rank`.
Dims Widened(const Value& value, size_t rank) {
  Dims dims = value.dims();
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

// One element per lane of the result's channels.
LtOperand BindBias(const Value& bias, int64_t lanes, Binder& binder) {
  const int64_t channels = bias.elements();
  return binder.Bind(bias, {channels}, Format::Of({{0, 1, lanes, lanes}}));
}

void LowerFormula(const Node& anchor, const Formula& formula, const FusedTensor& result,
                  Binder& binder, LtProblem& problem) {
  const bool is_gemm = anchor.op() == "Gemm";
  const float own_alpha = is_gemm ? anchor.attrs().Float("alpha", 1) : 1;
  problem.alpha = static_cast<float>(own_alpha * formula.scale);
  if (formula.residual != nullptr) {
    const bool is_own =
        is_gemm && formula.residual == (anchor.has_input(2) ? &anchor.input(2) : nullptr);
    problem.beta = is_own ? anchor.attrs().Float("beta", 1) : 1;
    problem.c = binder.Bind(*formula.residual, Widened(*formula.residual, result.dims.size()),
                            binder.output());
  }
  if (formula.bias != nullptr) {
    problem.bias = BindBias(*formula.bias, problem.d_matrix.rows, binder);
  }
  if (formula.activation != nullptr) {
    problem.activation = formula.activation->op() == "Relu" ? LtProblem::Activation::kRelu
                                                            : LtProblem::Activation::kGelu;
  }
}

}  // namespace

absl::StatusOr<LtProblem> LowerProduct(const Candidate& candidate) {
  const Node& anchor = AnchorOf(candidate);
  const Value& y = anchor.output(0);
  Binder binder(candidate);
  LtProblem problem{.dtype = y.dtype()};
  const bool is_image = anchor.op() == "Conv";
  if (is_image) {
    LowerPointConvolution(anchor, binder, problem);
  } else {
    LowerMatrix(candidate, anchor, binder, problem);
  }
  const FusedTensor result = is_image ? ImageOf(y) : onnx_cudnn::MatrixOf(y);
  LowerFormula(anchor, FormulaOf(anchor, candidate.nodes, result), result, binder, problem);
  problem.constants = binder.TakeConstants();
  if (problem.batch <= std::numeric_limits<int32_t>::max()) return problem;
  return absl::UnimplementedError(
      absl::StrCat(problem.batch, " products, cuBLASLt counts them in 32 bits"));
}

}  // namespace onnx_cudnn

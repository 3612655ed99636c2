// ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul: products of 8-bit integers. Each runs
// as Conv or MatMul on f64 copies of its operands minus their zero points, which is exact below
// 2^53.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/saturate.h"
#include "runtime/ops/window.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;
constexpr DTypeSet kByteTypes = {DType::kU8, DType::kI8};

// The positions of an op's inputs; input 0 is the left operand.
struct Operands {
  const char* product;  // the op that computes the product
  int right, left_zero, right_zero;
};
constexpr Operands kConvInteger = {"Conv", 1, 2, 3}, kMatMulInteger = {"MatMul", 1, 2, 3};
constexpr Operands kQLinearConv = {"Conv", 3, 2, 5}, kQLinearMatMul = {"MatMul", 3, 2, 5};
constexpr int kLeftScale = 1, kRightScale = 4, kOutputScale = 6, kOutputZero = 7, kBias = 8;

bool IsConv(const Operands& operands) { return std::string_view(operands.product) == "Conv"; }

// The axes along which parameters may vary: filters of Conv; rows and columns of MatMul. -1: a
// single number is required.
struct ParameterAxes {
  int64_t left = -1, right = -1, output_of_left = -1, output_of_right = -1;
};
ParameterAxes AxesFor(const Operands& operands, int64_t left_rank, int64_t right_rank,
                      int64_t output_rank) {
  if (IsConv(operands)) return {.right = 0, .output_of_right = 1};
  const bool rows = left_rank >= 2, columns = right_rank >= 2;
  return {.left = rows ? left_rank - 2 : -1,
          .right = columns ? right_rank - 1 : -1,
          .output_of_left = rows ? output_rank - (columns ? 2 : 1) : -1,
          .output_of_right = columns ? output_rank - 1 : -1};
}

// One number for a whole tensor, or one per index of an axis.
struct Parameter {
  std::vector<double> values = {0};
  int64_t inner = 1;  // elements per index of the axis

  double At(int64_t i) const {
    return values[values.size() == 1 ? 0 : i / inner % static_cast<int64_t>(values.size())];
  }
};

absl::StatusOr<Parameter> ParameterOf(const ReferenceArgs& args, int input, const char* what,
                                      absl::Span<const int64_t> dims, int64_t axis) {
  Parameter parameter;
  if (!args.has_in(input)) return parameter;
  const TensorRef& tensor = args.in[input];
  if (tensor.elements() != 1) {
    if (axis < 0)
      return absl::InvalidArgumentError(
          absl::StrCat(what, " is ", ToString(tensor.dims), ", expected one element"));
    RETURN_IF_ERROR(ExpectDims(what, tensor.dims, {dims[axis]}));
    parameter.inner = ViewAround(dims, axis).inner;
  }
  parameter.values.clear();
  VisitElementType(tensor.dtype, [&](auto element) {
    for (auto e : tensor.as<decltype(element)>()) parameter.values.push_back(Widen<double>(e));
  });
  return parameter;
}

// The f64 Conv or MatMul that computes the op's product.
class Product {
 public:
  Product(const Node& node, const Operands& operands, absl::Span<const int64_t> left,
          absl::Span<const int64_t> right, absl::Span<const int64_t> output) {
    Value& a = graph_.AddInput("a", Type::Tensor(DType::kF64, left));
    Value& b = graph_.AddInput("b", Type::Tensor(DType::kF64, right));
    node_ = &graph_.AddNode({.op = operands.product, .inputs = {&a, &b}, .attrs = node.attrs()});
    graph_.SetType(node_->output(0), Type::Tensor(DType::kF64, output));
  }
  const Node& node() const { return *node_; }
  int64_t workspace_bytes() const {
    const OpDef& op = *FindOp(*node_);
    return op.workspace == nullptr ? 0 : op.workspace(*node_);
  }

 private:
  Graph graph_;
  Node* node_;
};

int64_t CopyBytes(int64_t elements) {
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(double));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void Subtract(const TensorRef& from, const Parameter& zero, double* to, ThreadPool& threads) {
  VisitElementType(from.dtype, [&](auto element) {
    const auto* data = from.as<decltype(element)>().data();
    threads.ParallelFor(from.elements(), GrainFor(4), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) to[i] = Widen<double>(data[i]) - zero.At(i);
    });
  });
}

// The exact product at the start of the workspace, followed by the copies of its operands.
absl::StatusOr<const double*> Multiply(const ReferenceArgs& args, const Operands& operands) {
  const TensorRef &left = args.in[0], &right = args.in[operands.right];
  const MutableTensorRef& out = args.out[0];
  const ParameterAxes axes =
      AxesFor(operands, left.dims.size(), right.dims.size(), out.dims.size());
  ASSIGN_OR_RETURN(const Parameter left_zero,
                   ParameterOf(args, operands.left_zero, "zero point", left.dims, axes.left));
  ASSIGN_OR_RETURN(const Parameter right_zero,
                   ParameterOf(args, operands.right_zero, "zero point", right.dims, axes.right));
  char* next = static_cast<char*>(args.workspace);
  const auto take = [&](int64_t elements) {
    char* taken = next;
    next += CopyBytes(elements);
    return reinterpret_cast<double*>(taken);
  };
  double *y = take(out.elements()), *a = take(left.elements()), *b = take(right.elements());
  Subtract(left, left_zero, a, args.threads);
  Subtract(right, right_zero, b, args.threads);
  const Product product(args.node, operands, left.dims, right.dims, out.dims);
  const TensorRef in[] = {{DType::kF64, left.dims, a}, {DType::kF64, right.dims, b}};
  const MutableTensorRef result[] = {{DType::kF64, out.dims, y}};
  RETURN_IF_ERROR(EvaluateNode({product.node(), in, result, next, args.threads}));
  return y;
}

template <const Operands& kOperands>
absl::Status ReferenceInteger(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const double* product, Multiply(args, kOperands));
  int32_t* y = static_cast<int32_t*>(args.out[0].data);
  args.threads.ParallelFor(args.out[0].elements(), GrainFor(1), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) y[i] = Narrow<int32_t>(product[i]);
  });
  return absl::OkStatus();
}

// Converts a sum to an element: saturate(round((sum + bias) * left * right / output) + zero).
struct Requantization {
  Parameter bias, left, right, output, zero;

  double operator()(double sum, int64_t i) const {
    const double scale = left.At(i) * right.At(i) / output.At(i);
    return std::nearbyint((sum + bias.At(i)) * scale) + zero.At(i);
  }
};

absl::StatusOr<Requantization> RequantizationOf(const ReferenceArgs& args,
                                                const Operands& operands) {
  const absl::Span<const int64_t> dims = args.out[0].dims;
  const ParameterAxes axes =
      AxesFor(operands, args.in[0].dims.size(), args.in[operands.right].dims.size(), dims.size());
  Requantization r;
  ASSIGN_OR_RETURN(r.left, ParameterOf(args, kLeftScale, "scale", dims, axes.output_of_left));
  ASSIGN_OR_RETURN(r.right, ParameterOf(args, kRightScale, "scale", dims, axes.output_of_right));
  ASSIGN_OR_RETURN(r.output, ParameterOf(args, kOutputScale, "scale", dims, axes.output_of_left));
  ASSIGN_OR_RETURN(r.zero, ParameterOf(args, kOutputZero, "zero point", dims, axes.output_of_left));
  ASSIGN_OR_RETURN(r.bias, ParameterOf(args, kBias, "bias", dims, axes.output_of_right));
  return r;
}

template <const Operands& kOperands>
absl::Status ReferenceQLinear(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Requantization requantize, RequantizationOf(args, kOperands));
  ASSIGN_OR_RETURN(const double* product, Multiply(args, kOperands));
  const auto store = [&](auto* y) {
    using T = std::remove_pointer_t<decltype(y)>;
    args.threads.ParallelFor(args.out[0].elements(), GrainFor(8), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) y[i] = Saturate<T>(requantize(product[i], i));
    });
  };
  if (args.out[0].dtype == DType::kI8) {
    store(static_cast<int8_t*>(args.out[0].data));
  } else {
    store(static_cast<uint8_t*>(args.out[0].data));
  }
  return absl::OkStatus();
}

template <const Operands& kOperands>
int64_t Workspace(const Node& node) {
  const Value &left = node.input(0), &right = node.input(kOperands.right);
  const Value& out = node.output(0);
  return CopyBytes(out.elements()) + CopyBytes(left.elements()) + CopyBytes(right.elements()) +
         Product(node, kOperands, left.dims(), right.dims(), out.dims()).workspace_bytes();
}

template <const Operands& kOperands>
Cost ProductCost(const Node& node) {
  const Dims left = node.input(0).dims(), right = node.input(kOperands.right).dims();
  const Product product(node, kOperands, left, right, node.output(0).dims());
  Cost cost = CostOf(product.node());
  const int64_t copied = node.input(0).elements() + node.input(kOperands.right).elements();
  cost.flops += 2 * copied + 4 * node.output(0).elements();  // zero points and requantization
  cost.bytes += IoBytes(node) + copied * static_cast<int64_t>(sizeof(double));
  return cost;
}

Support CheckIs(const Node& node, int input, DTypeSet types) {
  if (!node.has_input(input)) return Support::Yes();
  const DType dtype = node.input(input).dtype();
  if (types.Has(dtype)) return Support::Yes();
  return Support::No(absl::StrCat("input ", input, " is ", NameOf(dtype)));
}

Support CheckProduct(const Node& node, const Operands& operands) {
  for (int input : {operands.right, operands.left_zero, operands.right_zero}) {
    if (Support s = CheckIs(node, input, kByteTypes); !s) return s;
    if (input != operands.right && node.has_input(input) && node.input(input).rank() > 1)
      return Support::No("zero points of more than one axis are not implemented");
  }
  if (!IsConv(operands)) return Support::Yes();
  if (node.attrs().Int("group", 1) < 1) return Support::No("group is below 1");
  if (node.input(operands.right).rank() == node.input(0).rank()) return CheckWindow(node);
  return Support::No(absl::StrCat("weight has rank ", node.input(operands.right).rank(),
                                  ", input has rank ", node.input(0).rank()));
}

template <const Operands& kOperands>
Support CheckInteger(const Node& node) {
  if (node.output(0).dtype() != DType::kI32) return Support::No("the output is not i32");
  return CheckProduct(node, kOperands);
}

template <const Operands& kOperands>
Support CheckQLinear(const Node& node) {
  if (!kByteTypes.Has(node.output(0).dtype())) return Support::No("the output is not of 8 bits");
  for (int input : {kLeftScale, kRightScale, kOutputScale, kOutputZero, kBias}) {
    const DTypeSet types = input == kOutputZero ? DTypeSet{node.output(0).dtype()}
                           : input == kBias     ? DTypeSet{DType::kI32}
                                                : kFloatTypes;
    if (Support s = CheckIs(node, input, types); !s) return s;
    if (node.has_input(input) && node.input(input).rank() > 1)
      return Support::No("scales of more than one axis are not implemented");
  }
  return CheckProduct(node, kOperands);
}

template <const Operands& kOperands>
OpDef ByteProductOp(decltype(OpDef::check) check, decltype(OpDef::reference) reference,
                    OpTraits traits) {
  return {.types = kByteTypes,
          .check = check,
          .reference = reference,
          .workspace = Workspace<kOperands>,
          .cost = ProductCost<kOperands>,
          .traits = traits};
}

template <const Operands& kOperands>
OpDef IntegerOp(OpTraits traits) {
  return ByteProductOp<kOperands>(CheckInteger<kOperands>, ReferenceInteger<kOperands>, traits);
}

template <const Operands& kOperands>
OpDef QLinearOp(OpTraits traits) {
  return ByteProductOp<kOperands>(CheckQLinear<kOperands>, ReferenceQLinear<kOperands>, traits);
}

}  // namespace

OpDef ConvIntegerOp() {
  return IntegerOp<kConvInteger>({.anchor = true, .has_window = true, .window_weight = 1});
}
OpDef MatMulIntegerOp() { return IntegerOp<kMatMulInteger>({.anchor = true}); }
OpDef QLinearConvOp() {
  return QLinearOp<kQLinearConv>({.anchor = true, .has_window = true, .window_weight = 3});
}
OpDef QLinearMatMulOp() { return QLinearOp<kQLinearMatMul>({.anchor = true}); }

}  // namespace onnx_cudnn

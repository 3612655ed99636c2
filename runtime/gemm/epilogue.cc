#include "runtime/gemm/epilogue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/graph/float16.h"
#include "runtime/plan/product.h"

namespace onnx_cudnn {
namespace {

constexpr Rule kNotInFormula = {
    "cuBLASLt computes act(alpha·A·B + beta·C + bias) with Relu or Gelu, nothing else",
    "none in cuBLASLt: cuDNN's epilogues and those of our kernels take more"};
constexpr Rule kErf = {"cuBLASLt's Gelu is the tanh approximation",
                       "approximate = \"tanh\", where the model allows it"};
constexpr Rule kActivationIsLast = {"cuBLASLt applies the activation last",
                                    "none in cuBLASLt: cuDNN's epilogues have any order"};
constexpr Rule kScaleIsFirst = {"cuBLASLt scales the product before it adds",
                                "fold the factor into the weight and the bias"};
constexpr Rule kTwice = {"cuBLASLt adds one bias and one matrix", "add the two before"};
constexpr Rule kOneResult = {"cuBLASLt writes one result, and this value has other readers",
                             "none in cuBLASLt: small_batch_conv of ours may write both"};
constexpr Rule kOtherOperand = {
    "cuBLASLt adds one value per column, or a matrix of the result's shape and type",
    "expand the operand, or bring it to the result's type"};
constexpr Rule kTwoSources = {
    "two products are one over both depths only where their inputs lie side by side in one buffer",
    "none with library calls: writing such slices is slower; a kernel of ours reads two sources"};

enum class Role { kScale, kResidual, kBias, kActivation, kNone };

// The operand of a binary Node that none of `nodes` computes; nullptr: there is not exactly one.
const Value* OtherOperand(absl::Span<const Node* const> nodes, const Node& node) {
  if (node.inputs().size() != 2) return nullptr;
  const bool first = Contains(nodes, node.input(0).producer());
  const bool second = Contains(nodes, node.input(1).producer());
  if (first == second) return nullptr;
  return &node.input(first ? 1 : 0);
}

Role RoleOfAddend(const Value& operand, const FusedTensor& result, DType dtype) {
  if (!operand.is_static() || operand.dtype() != dtype) return Role::kNone;
  const OperandShape shape = ShapeOf(operand, result);
  if (shape == OperandShape::kFull) return Role::kResidual;
  return shape == OperandShape::kPerChannel ? Role::kBias : Role::kNone;
}

bool IsTanhGelu(const Node& node) {
  return node.op() == "Gelu" && node.attrs().String("approximate", "none") == "tanh";
}

// The role of `node` in the epilogue of the product that `nodes` compute.
Role RoleOf(absl::Span<const Node* const> nodes, const Node& node, const FusedTensor& result) {
  if (node.op() == "Relu" || IsTanhGelu(node)) return Role::kActivation;
  const Value* operand = OtherOperand(nodes, node);
  if (operand == nullptr) return Role::kNone;
  if (node.op() == "Add") return RoleOfAddend(*operand, result, node.output(0).dtype());
  const bool divides = node.op() == "Div" && operand == &node.input(1);
  const bool is_factor = operand->is_constant() && operand->constant().elements() == 1;
  return is_factor && (node.op() == "Mul" || divides) ? Role::kScale : Role::kNone;
}

Epilogue EpilogueOf(absl::Span<const Node* const> nodes, Epilogue epilogue,
                    const FusedTensor& result) {
  for (const Node* node : nodes) {
    const Role role = RoleOf(nodes, *node, result);
    epilogue.scale |= role == Role::kScale;
    epilogue.residual |= role == Role::kResidual;
    epilogue.bias |= role == Role::kBias;
    epilogue.activation |= role == Role::kActivation;
  }
  return epilogue;
}

// The value of a constant of one element.
double NumberOf(const HostTensor& constant) {
  switch (constant.dtype()) {
    case DType::kF16:
      return ToFloat(constant.data<Float16>()[0]);
    case DType::kBF16:
      return ToFloat(constant.data<BFloat16>()[0]);
    default:
      return constant.data<float>()[0];
  }
}

bool IsProduct(const Node& node) { return IsMatrixProduct(node) || node.op() == "Conv"; }

}  // namespace

Support CheckAddend(const Node& gemm) {
  if (!gemm.has_input(2)) return Support::Yes();
  const Value& c = gemm.input(2);
  const Value& y = gemm.output(0);
  const Role role = RoleOfAddend(c, MatrixOf(y), y.dtype());
  if (role == Role::kResidual) return Support::Yes();
  if (role != Role::kBias) {
    return Support::No(absl::StrCat(c.name(), " ", ToString(c.type()),
                                    " is neither a row nor a matrix of the result's shape"));
  }
  const bool is_plain = gemm.attrs().Float("beta", 1) == 1;
  return is_plain ? Support::Yes() : Support::No("its bias is scaled by beta");
}

Epilogue OwnEpilogue(const Node& anchor, const FusedTensor& result) {
  if (!anchor.has_input(2)) return {};
  const bool is_full = ShapeOf(anchor.input(2), result) == OperandShape::kFull;
  const bool is_residual = anchor.op() == "Gemm" && is_full;
  return {.residual = is_residual, .bias = !is_residual};
}

const Rule* MayFollowProduct(const GrowthStep& step, const Epilogue& own,
                             const FusedTensor& result) {
  const Node& node = step.node;
  const Value& y = node.output(0);
  const Epilogue epilogue = EpilogueOf(step.nodes, own, result);
  const Role role = RoleOf(step.nodes, node, result);
  if (node.op() == "Gelu" && role == Role::kNone) return &kErf;
  if (node.op() == "Add" && role == Role::kNone) return &kOtherOperand;
  if (role == Role::kNone || !IsPointwise(node)) return &kNotInFormula;
  if (!y.is_static() || y.dims() != result.dims) return &kOtherOperand;
  if (!step.edge.has_one_use()) return &kOneResult;
  if (epilogue.activation) return &kActivationIsLast;
  if (role == Role::kScale) {
    return epilogue.scale || epilogue.bias || epilogue.residual ? &kScaleIsFirst : nullptr;
  }
  const bool is_taken =
      (role == Role::kBias && epilogue.bias) || (role == Role::kResidual && epilogue.residual);
  return is_taken ? &kTwice : nullptr;
}

const Rule* WhyNotConcatenated(const GrowthStep& step) {
  const bool is_added = std::any_of(step.nodes.begin(), step.nodes.end(), [&](const Node* node) {
    return node->op() == "Add" && IsReadBy(step.edge, {&node, 1});
  });
  return is_added && IsProduct(step.node) ? &kTwoSources : &kUnreported;
}

Formula FormulaOf(const Node& anchor, absl::Span<const Node* const> nodes,
                  const FusedTensor& result) {
  Formula formula;
  const Epilogue own = OwnEpilogue(anchor, result);
  if (own.residual) formula.residual = &anchor.input(2);
  if (own.bias) formula.bias = &anchor.input(2);
  for (const Node* node : NodesBehind(anchor, nodes)) {
    const Value* operand = OtherOperand(nodes, *node);
    switch (RoleOf(nodes, *node, result)) {
      case Role::kScale: {
        const double factor = NumberOf(operand->constant());
        formula.scale = node->op() == "Div" ? formula.scale / factor : formula.scale * factor;
        break;
      }
      case Role::kResidual:
        formula.residual = operand;
        break;
      case Role::kBias:
        formula.bias = operand;
        break;
      case Role::kActivation:
        formula.activation = node;
        break;
      case Role::kNone:
        break;
    }
  }
  return formula;
}

bool AddsResidual(absl::Span<const Node* const> nodes, const FusedTensor& result) {
  return EpilogueOf(nodes, {}, result).residual;
}

}  // namespace onnx_cudnn

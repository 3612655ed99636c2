#include "runtime/kernels/cuda/pointwise/simple_form.h"

#include <utility>

#include "runtime/kernels/cuda/pointwise/pointwise_layout.h"
#include "runtime/kernels/cuda/pointwise/pointwise_program.h"
#include "runtime/kernels/cuda/pointwise/pointwise_simple.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kSimpleTypes = {DType::kF16, DType::kBF16, DType::kF32};

struct SimpleForm {
  const Value* a = nullptr;
  const Value* b = nullptr;  // nullptr: none, or a number
  SimpleParameters parameters;
};

// Returns false if it is not an activation.
bool ReadActivation(const Node& node, SimpleParameters& p) {
  p.activation = ActivationOf(node);
  return p.activation.kind != Activation::Kind::kNone;
}

// The primitive that the Node computes on its two inputs; kNoJoin: another computation, or the
// primitive has no reversed form.
PointwiseCode JoinOf(const Node& node) {
  if (node.inputs().size() != 2) return kNoJoin;
  const Expression bound = BindPointwise(node);
  const std::vector<Term>& terms = bound.terms();
  const Term& last = terms.back();
  const bool is_join = terms.size() == 3 && terms[0].input == 0 && terms[1].input == 1 &&
                       ArityOf(last.primitive) == 2 && last.args[0] == 0 && last.args[1] == 1;
  if (!is_join || !IsComputedEverywhere(last.primitive)) return kNoJoin;
  const PointwiseCode code = CodeOf<PointwiseCode>(last.primitive);
  return Exchanged(code) == PointwiseCode::kMove ? kNoJoin : code;
}

bool ReadJoin(const Node& node, SimpleForm& form) {
  form.parameters.join = JoinOf(node);
  if (form.parameters.join == kNoJoin) return false;
  form.a = &node.input(0);
  form.b = &node.input(1);
  if (ConstantNumber(*form.a)) {
    std::swap(form.a, form.b);
    form.parameters.join = Exchanged(form.parameters.join);
  }
  const std::optional<float> number = ConstantNumber(*form.b);
  if (!number) return true;
  form.parameters.number = *number;
  form.b = nullptr;
  return !ConstantNumber(*form.a);
}

std::optional<SimpleForm> FormOf(const std::vector<const Node*>& nodes) {
  SimpleForm form;
  const Node& first = *nodes[0];
  if (nodes.size() == 1 && (first.op() == "Cast" || ReadActivation(first, form.parameters))) {
    form.a = &first.input(0);
    return form;
  }
  if (nodes.size() == 2 && IsGate(first, *nodes[1])) {
    form.a = &first.input(0);
    form.parameters.activation.kind = Activation::Kind::kGate;
    return form;
  }
  if (nodes.size() > 2 || !ReadJoin(first, form)) return std::nullopt;
  if (nodes.size() == 1) return form;
  const Node& second = *nodes[1];
  if (!ReadActivation(second, form.parameters)) return std::nullopt;
  if (&second.input(0) != &first.output(0)) return std::nullopt;
  form.parameters.rounds = true;
  return form;
}

bool HasSimpleTypes(const Unit& unit, const SimpleForm& form) {
  const DType to = unit.boundary.outputs[0]->dtype();
  if (!kSimpleTypes.Has(to) || !kSimpleTypes.Has(form.a->dtype())) return false;
  if (unit.nodes.size() == 1 && unit.node().op() == "Cast") return true;
  return form.a->dtype() == to && (form.b == nullptr || form.b->dtype() == to);
}

// Sets the layout of b. nullopt: it must be read lane by lane.
std::optional<SimpleOperand> PlaceOperand(const LaneLayout& layout, const KernelOperand& b,
                                          SimpleParameters& p) {
  if (layout.lies_as_output[1]) return SimpleOperand::kFull;
  const bool is_small = layout.lanes <= kMostExtent && layout.axes.size() <= kMostSimpleAxes;
  const PointwiseAccess access = AccessOf(layout, b, 1, VectorLanes(b.element_bytes()));
  if (!is_small || access == PointwiseAccess::kGathered) return std::nullopt;
  p.repeats = access == PointwiseAccess::kRepeated;
  for (const LaneAxis& axis : layout.axes) {
    p.extents[p.axes] = FastDivide<uint32_t>(axis.extent);
    p.strides[p.axes++] = static_cast<int>(axis.strides[1]);
  }
  return SimpleOperand::kBroadcast;
}

}  // namespace

std::optional<KernelCode> CompileSimple(const KernelRequest& request) {
  const Unit& unit = request.unit;
  if (unit.boundary.outputs.size() != 1 ||
      unit.boundary.outputs[0] != &unit.nodes.back()->output(0)) {
    return std::nullopt;
  }
  std::optional<SimpleForm> form = FormOf(unit.nodes);
  if (!form || !HasSimpleTypes(unit, *form)) return std::nullopt;
  Operands found(request);
  const KernelOperand y = found.Of(*unit.boundary.outputs[0]);
  std::vector<KernelOperand> operands = {found.Of(*form->a)};
  if (form->b != nullptr) operands.push_back(found.Of(*form->b));
  if (!CheckOutput(y).ok() || y.has_padding()) return std::nullopt;
  SimpleParameters& p = form->parameters;
  LaneLayout layout = LayoutOf(y, operands);
  if (form->b != nullptr && !layout.lies_as_output[0]) {
    std::swap(operands[0], operands[1]);
    p.join = Exchanged(p.join);
    layout = LayoutOf(y, operands);
  }
  if (!layout.lies_as_output[0]) return std::nullopt;
  KernelCode code{.constants = found.TakeConstants()};
  p.lanes = layout.lanes;
  if (p.lanes == 0) return code;

  SimpleOperand operand = SimpleOperand::kNone;
  if (operands.size() == 2) {
    const std::optional<SimpleOperand> placed = PlaceOperand(layout, operands[1], p);
    if (!placed) return std::nullopt;
    operand = *placed;
  }
  const DType from = operands[0].dtype(), to = y.dtype();
  KernelCall call = from == to ? SimpleCall(to, operand, p) : SimpleCast(from, to, p);
  call.Bind(offsetof(SimpleParameters, a), operands[0].slot);
  call.Bind(offsetof(SimpleParameters, y), y.slot);
  if (operands.size() == 2) call.Bind(offsetof(SimpleParameters, b), operands[1].slot);
  code.calls.push_back(std::move(call));
  return code;
}

}  // namespace onnx_cudnn

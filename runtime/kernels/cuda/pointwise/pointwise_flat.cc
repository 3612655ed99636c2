#include "runtime/kernels/cuda/pointwise/pointwise_flat.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

using Code = PointwiseCode;
using Type = PointwiseType;
using Operation = FlatOperation;

Type TypeOf(DType compute_type) {
  switch (compute_type) {
    case DType::kF64:
      return Type::kF64;
    case DType::kI64:
      return Type::kI64;
    case DType::kU64:
      return Type::kU64;
    default:
      return Type::kF32;
  }
}

// The type of a value of `dtype` between Nodes.
Type HeldAs(DType dtype) {
  if (dtype == DType::kF64) return Type::kF64;
  if (dtype == DType::kU64) return Type::kU64;
  return kFloatTypes.Has(dtype) ? Type::kF32 : Type::kI64;
}

// The bits of `number` in type `type`, converted as the references do.
template <typename E>
uint64_t BitsOfNumber(E number, Type type) {
  switch (type) {
    case Type::kF32:
      return std::bit_cast<uint32_t>(Widen<float>(number));
    case Type::kF64:
      return std::bit_cast<uint64_t>(Widen<double>(number));
    case Type::kI64:
      return static_cast<uint64_t>(Widen<int64_t>(number));
    default:
      return Widen<uint64_t>(number);
  }
}

uint64_t BitsOfElement(const HostTensor& tensor, Type type) {
  return VisitElementType(tensor.dtype(), [&](auto element) {
    std::memcpy(&element, tensor.raw(), sizeof(element));
    return BitsOfNumber(element, type);
  });
}

// Types whose elements f32 represents exactly.
constexpr DTypeSet kExactInF32 = {DType::kF32, DType::kF16, DType::kBF16, DType::kBool,
                                  DType::kI8,  DType::kU8,  DType::kI16,  DType::kU16};

bool IsCast(const Node& node) { return node.op() == "Cast" || node.op() == "CastLike"; }

// Whether every reference computes in f32, or f32 gives the same results.
bool FitsNarrow(const Unit& unit) {
  for (const Node* node : unit.nodes) {
    const Expression bound = BindPointwise(*node);
    for (const Term& term : bound.terms()) {
      if (term.primitive != Primitive::kInput) continue;
      if (!kExactInF32.Has(node->input(term.input).dtype())) return false;
    }
    if (!IsCast(*node) && ComputeTypeOf(bound, *node) != DType::kF32) return false;
  }
  return true;
}

// All Nodes as one list of operations over terms.
class Flattener {
 public:
  Flattener(const Unit& unit, bool is_wide) : unit_(unit), is_wide_(is_wide) {}

  absl::Status Flatten() {
    for (const Node* node : unit_.nodes) RETURN_IF_ERROR(Add(*node));
    return absl::OkStatus();
  }

  FlatNodes Take() {
    DropUnread();
    return {std::move(terms_), std::move(operations_), std::move(operands_), std::move(outputs_),
            is_wide_};
  }

 private:
  absl::Status Add(const Node& node) {
    const Value& value = node.output(0);
    if (!kFixedSizeTypes.Has(value.dtype())) {
      return absl::UnimplementedError(absl::StrCat("it does not write ", NameOf(value.dtype())));
    }
    const Expression bound = BindPointwise(node);
    const Type type = is_wide_ ? TypeOf(ComputeTypeOf(bound, node)) : Type::kF32;
    std::vector<int> at;  // by Term: index of its FlatTerm
    for (const Term& term : bound.terms()) {
      ASSIGN_OR_RETURN(const int added, AddTerm(node, bound, term, at, type));
      at.push_back(added);
    }
    if (terms_[at.back()].kind != FlatTerm::Kind::kResult || bound.terms().size() == 1) {
      at.back() = AddOperation({.code = Code::kMove, .args = {at.back()}, .type = type});
    }
    Operation& last = operations_.back();
    const bool changes = is_wide_ || value.dtype() != DType::kF32;
    const bool rounds = is_wide_ || kExactInF32.Has(value.dtype());
    if (changes && rounds) last.rounded = value.dtype();
    if (is_wide_) terms_[last.result].type = HeldAs(value.dtype());
    results_[&value] = last.result;
    AddOutput(value, last);
    return absl::OkStatus();
  }

  void AddOutput(const Value& value, Operation& last) {
    const std::vector<const Value*>& all = unit_.boundary.outputs;
    if (std::find(all.begin(), all.end(), &value) == all.end()) return;
    last.output = static_cast<int>(outputs_.size());
    outputs_.push_back(&value);
  }

  absl::StatusOr<int> AddTerm(const Node& node, const Expression& bound, const Term& term,
                              const std::vector<int>& at, Type type) {
    if (term.primitive == Primitive::kConstant)
      return AddNumber(BitsOfNumber(term.value, type), type);
    if (term.primitive == Primitive::kInput) return AddInput(node.input(term.input), type);
    if (const Term* scale = LeakyScale(bound, term)) {
      const int number = AddNumber(BitsOfNumber(scale->value, type), type);
      return AddOperation({.code = Code::kLeaky, .args = {at[term.args[2]], number}, .type = type});
    }
    Operation operation{.code = CodeOf<Code>(term.primitive), .type = type};
    for (int i = 0; i < ArityOf(term.primitive); ++i) operation.args.push_back(at[term.args[i]]);
    return AddOperation(std::move(operation));
  }

  // The number in `x < 0 ? number · x : x`; nullptr: `select` has another form.
  static const Term* LeakyScale(const Expression& bound, const Term& select) {
    if (select.primitive != Primitive::kSelect) return nullptr;
    const std::vector<Term>& all = bound.terms();
    const Term &condition = all[select.args[0]], &yes = all[select.args[1]];
    if (condition.primitive != Primitive::kLess || yes.primitive != Primitive::kMul) return nullptr;
    const Term &zero = all[condition.args[1]], &scale = all[yes.args[0]];
    const bool fits = condition.args[0] == select.args[2] && yes.args[1] == select.args[2] &&
                      zero.primitive == Primitive::kConstant && zero.value == 0 &&
                      scale.primitive == Primitive::kConstant;
    return fits ? &scale : nullptr;
  }

  absl::StatusOr<int> AddInput(const Value& value, Type type) {
    if (!kFixedSizeTypes.Has(value.dtype())) {
      return absl::UnimplementedError(absl::StrCat("it does not read ", NameOf(value.dtype())));
    }
    if (value.is_constant() && value.elements() == 1) {
      return AddNumber(BitsOfElement(value.constant(), type), type);
    }
    const auto [it, is_new] = results_.try_emplace(&value, static_cast<int>(terms_.size()));
    if (is_new) {
      const Type held = is_wide_ ? HeldAs(value.dtype()) : Type::kF32;
      terms_.push_back({FlatTerm::Kind::kOperand, static_cast<int>(operands_.size()), 0, held});
      operands_.push_back(&value);
    }
    const int term = it->second;
    if (terms_[term].type == type) return term;
    return AddOperation(
        {.code = Code::kConvert, .args = {term}, .type = type, .source_type = terms_[term].type});
  }

  int AddNumber(uint64_t number, Type type) {
    terms_.push_back({FlatTerm::Kind::kNumber, 0, number, type});
    return static_cast<int>(terms_.size()) - 1;
  }

  int AddOperation(Operation operation) {
    operation.result = static_cast<int>(terms_.size());
    terms_.push_back({FlatTerm::Kind::kResult, 0, 0, operation.type});
    operations_.push_back(std::move(operation));
    return operations_.back().result;
  }

  // Drops the operations that kLeaky replaces.
  void DropUnread() {
    std::vector<bool> read;
    std::vector<Operation> kept;
    for (auto it = operations_.rbegin(); it != operations_.rend(); ++it) {
      read.resize(std::max<size_t>(read.size(), it->result + 1));
      if (!read[it->result] && it->output < 0) continue;
      for (const int arg : it->args) {
        read.resize(std::max<size_t>(read.size(), arg + 1));
        read[arg] = true;
      }
      kept.push_back(std::move(*it));
    }
    std::reverse(kept.begin(), kept.end());
    operations_ = std::move(kept);
  }

  const Unit& unit_;
  const bool is_wide_;
  std::vector<FlatTerm> terms_;
  std::vector<Operation> operations_;
  std::vector<const Value*> operands_, outputs_;
  std::map<const Value*, int> results_;  // index of the term for an operand or a Node's output
};

}  // namespace

absl::StatusOr<FlatNodes> Flatten(const Unit& unit) {
  Flattener flattener(unit, !FitsNarrow(unit));
  RETURN_IF_ERROR(flattener.Flatten());
  return flattener.Take();
}

}  // namespace onnx_cudnn

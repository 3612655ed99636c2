#include "runtime/kernels/cuda/pointwise/epilogue_builder.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kHeldTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kBool};

absl::Status TooMany(std::string_view what, int most) {
  return absl::UnimplementedError(
      absl::StrCat("the element-wise ops need more than ", most, " ", what));
}

bool IsOutput(const Unit& unit, const Value& value) {
  const auto& outputs = unit.boundary.outputs;
  return std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
}

// Whether any four lanes starting at a multiple of four are one aligned access.
bool IsAligned(const EpilogueTensor& t, bool along_columns) {
  const int64_t lane = along_columns ? t.column : t.channel;
  const int64_t other = along_columns ? t.channel : t.column;
  const auto whole = [](int64_t stride) { return stride % 4 == 0; };
  return lane == 1 && whole(t.image) && whole(t.depth) && whole(t.row) && whole(other);
}

// A tensor with up to three spatial axes, relative to images of `dims`.
EpilogueTensor TensorOf(const KernelOperand& operand, absl::Span<const int64_t> dims,
                        bool along_columns) {
  const Strides strides = BroadcastStrides(operand, dims);
  EpilogueTensor t{.image = strides.strides[0], .channel = strides.strides[1]};
  int64_t* spatial[] = {&t.depth, &t.row, &t.column};
  for (int i = 2; i < strides.rank; ++i) *spatial[3 - strides.rank + i] = strides.strides[i];
  t.dtype = operand.dtype();
  t.aligned = IsAligned(t, along_columns);
  return t;
}

}  // namespace

// Collects steps over values, then assigns registers to the values.
class EpilogueBuilder::Assembly {
 public:
  struct Item {
    EpilogueStep step;
    int to = -1;                 // a value
    int args[3] = {-1, -1, -1};  // values, or ~constant
    int uses = 0;                // number of uses as an argument
  };

  int NewValue() { return values_++; }
  void Append(Item item) { items_.push_back(item); }

  // Assigns registers to all values; value 0 is in register 0.
  absl::StatusOr<std::vector<EpilogueStep>> Place() const {
    std::vector<int> last(values_, -1), at(values_, -1);
    for (size_t i = 0; i < items_.size(); ++i) {
      for (int a = 0; a < items_[i].uses; ++a) {
        if (items_[i].args[a] >= 0) last[items_[i].args[a]] = static_cast<int>(i);
      }
    }
    std::vector<bool> taken(kEpilogueRegisters, false);
    if (values_ > 0) at[0] = 0, taken[0] = last[0] >= 0;
    std::vector<EpilogueStep> steps;
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      EpilogueStep step = item.step;
      for (int a = 0; a < item.uses; ++a) {
        const int arg = item.args[a];
        step.args[a] = static_cast<uint8_t>(arg >= 0 ? at[arg] : kEpilogueRegisters + ~arg);
      }
      for (int a = 0; a < item.uses; ++a) {
        const int arg = item.args[a];
        if (arg >= 0 && last[arg] == static_cast<int>(i)) taken[at[arg]] = false;
      }
      if (item.to >= 0) {
        const auto free = std::find(taken.begin(), taken.end(), false);
        if (free == taken.end()) return TooMany("values at once", kEpilogueRegisters);
        at[item.to] = static_cast<int>(free - taken.begin());
        step.to = static_cast<uint8_t>(at[item.to]);
        *free = last[item.to] >= 0;
      }
      steps.push_back(step);
    }
    return steps;
  }

 private:
  int values_ = 0;
  std::vector<Item> items_;
};

// Compiles one segment. A value is a number from Assembly::NewValue, or ~constant.
class EpilogueBuilder::SegmentBuilder {
 public:
  SegmentBuilder(EpilogueBuilder& program, absl::Span<const int64_t> dims, bool along_columns)
      : program_(program), dims_(dims), along_columns_(along_columns) {}

  absl::Status Start(const Value* start) {
    const int first = assembly_.NewValue();
    if (start == nullptr) return absl::OkStatus();
    values_[start] = first;
    return Store(*start);
  }

  absl::Status Compute(const Node& node) {
    RETURN_IF_ERROR(program_.CheckNode(node));
    ASSIGN_OR_RETURN(const int number, Evaluate(node));
    int value = Round(node, number);
    if (value < 0) value = AppendUnary(EpilogueCode::kMove, value);  // a constant
    values_[&node.output(0)] = value;
    return Store(node.output(0));
  }

  absl::StatusOr<std::vector<EpilogueStep>> Finish(const Value* result) {
    if (result == nullptr) return assembly_.Place();
    const auto it = values_.find(result);
    if (it == values_.end()) {
      return absl::InternalError(absl::StrCat("no operation computes ", result->name()));
    }
    AppendUnary(EpilogueCode::kMove, it->second);
    ASSIGN_OR_RETURN(std::vector<EpilogueStep> steps, assembly_.Place());
    steps.back().to = 0;  // the register that the runner reads
    return steps;
  }

 private:
  // The value of `node`'s formula, in f32.
  absl::StatusOr<int> Evaluate(const Node& node) {
    const Expression bound = BindPointwise(node);
    std::vector<int> at;  // by Term
    for (const Term& term : bound.terms()) {
      if (term.primitive == Primitive::kInput) {
        ASSIGN_OR_RETURN(const int value, Load(node.input(term.input)));
        at.push_back(value);
        continue;
      }
      if (term.primitive == Primitive::kConstant) {
        ASSIGN_OR_RETURN(const int constant, program_.ConstantOf(term.value));
        at.push_back(~constant);
        continue;
      }
      Assembly::Item item{.step = {CodeOf<EpilogueCode>(term.primitive), 0, {}},
                          .to = assembly_.NewValue()};
      item.uses = ArityOf(term.primitive);
      for (int i = 0; i < item.uses; ++i) item.args[i] = at[term.args[i]];
      assembly_.Append(item);
      at.push_back(item.to);
    }
    return at.back();
  }

  // `value` as a Cast by `node` leaves it in an f32 register; other Nodes leave it as it is.
  int Round(const Node& node, int value) {
    if (node.op() != "Cast" && node.op() != "CastLike") return value;
    switch (node.output(0).dtype()) {
      case DType::kF16:
        return AppendUnary(EpilogueCode::kRoundToF16, value);
      case DType::kBF16:
        return AppendUnary(EpilogueCode::kRoundToBF16, value);
      case DType::kBool:
        return AppendUnary(EpilogueCode::kNot, AppendUnary(EpilogueCode::kNot, value));
      default:
        return value;
    }
  }

  // Loads `value` from memory unless it is in a register.
  absl::StatusOr<int> Load(const Value& value) {
    if (const auto it = values_.find(&value); it != values_.end()) return it->second;
    ASSIGN_OR_RETURN(const int operand, program_.OperandOf(value, dims_, along_columns_));
    const int to = assembly_.NewValue();
    assembly_.Append(
        {.step = {EpilogueCode::kLoad, 0, {static_cast<uint8_t>(operand), 0, 0}}, .to = to});
    return values_[&value] = to;
  }

  // Stores `value` if it is an output of the Unit.
  absl::Status Store(const Value& value) {
    if (!IsOutput(program_.unit_, value)) return absl::OkStatus();
    if (!kHeldTypes.Has(value.dtype())) {
      return absl::UnimplementedError(absl::StrCat("an output of ", NameOf(value.dtype())));
    }
    ASSIGN_OR_RETURN(const int output, program_.OutputOf(value, dims_, along_columns_));
    assembly_.Append({.step = {EpilogueCode::kStore, 0, {0, static_cast<uint8_t>(output), 0}},
                      .args = {values_.at(&value)},
                      .uses = 1});
    return absl::OkStatus();
  }

  int AppendUnary(EpilogueCode code, int arg) {
    const int to = assembly_.NewValue();
    assembly_.Append({.step = {code, 0, {}}, .to = to, .args = {arg}, .uses = 1});
    return to;
  }

  EpilogueBuilder& program_;
  const absl::Span<const int64_t> dims_;
  const bool along_columns_;
  Assembly assembly_;
  std::map<const Value*, int> values_;  // in registers
};

absl::Status EpilogueBuilder::CheckNode(const Node& node) const {
  const DType to = node.output(0).dtype();
  if (!kHeldTypes.Has(to)) {
    return absl::UnimplementedError(absl::StrCat(node.op(), " to ", NameOf(to)));
  }
  const Expression bound = BindPointwise(node);
  const DType computed = ComputeTypeOf(bound, node);
  if (computed != DType::kF32) {
    return absl::UnimplementedError(absl::StrCat(node.op(), " computes in ", NameOf(computed)));
  }
  for (const Term& term : bound.terms()) {
    if (IsInEpilogues(term.primitive)) continue;
    return absl::UnimplementedError(absl::StrCat(node.op(), " inside of another kernel"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> EpilogueBuilder::OperandOf(const Value& value, absl::Span<const int64_t> dims,
                                               bool along_columns) {
  for (const Node* node : unit_.nodes) {
    if (value.producer() != node) continue;
    return absl::UnimplementedError(
        absl::StrCat(value.name(), " is computed before and behind the convolution"));
  }
  if (value.rank() > static_cast<int>(dims.size())) {
    return absl::UnimplementedError(absl::StrCat(value.name(), " has rank ", value.rank()));
  }
  const KernelOperand operand = operands_.Of(value);
  const EpilogueTensor tensor = TensorOf(operand, dims, along_columns);
  for (size_t i = 0; i < loads_.size(); ++i) {
    const EpilogueTensor& t = program_.operands[i];
    const bool same = t.image == tensor.image && t.channel == tensor.channel &&
                      t.depth == tensor.depth && t.row == tensor.row && t.column == tensor.column;
    if (loads_[i].value == &value && same && t.aligned == tensor.aligned) {
      return static_cast<int>(i);
    }
  }
  if (loads_.size() == kEpilogueOperands) return TooMany("operands", kEpilogueOperands);
  program_.operands[loads_.size()] = tensor;
  loads_.push_back({&value, operand.slot});
  return static_cast<int>(loads_.size()) - 1;
}

absl::StatusOr<int> EpilogueBuilder::OutputOf(const Value& value, absl::Span<const int64_t> dims,
                                              bool along_columns) {
  if (stores_.size() == kEpilogueOutputs) return TooMany("outputs", kEpilogueOutputs);
  const KernelOperand operand = operands_.Of(value);
  program_.outputs[stores_.size()] = TensorOf(operand, dims, along_columns);
  stores_.push_back({&value, operand.slot});
  return static_cast<int>(stores_.size()) - 1;
}

absl::StatusOr<int> EpilogueBuilder::ConstantOf(double value) {
  const float number = static_cast<float>(value);
  for (int i = 0; i < constants_; ++i) {
    if (std::bit_cast<uint32_t>(program_.constants[i]) == std::bit_cast<uint32_t>(number)) return i;
  }
  if (constants_ == kEpilogueConstants) return TooMany("numbers", kEpilogueConstants);
  program_.constants[constants_] = number;
  return constants_++;
}

absl::Status EpilogueBuilder::Add(const Value* start, const std::vector<const Node*>& nodes,
                                  const Value* result, absl::Span<const int64_t> dims,
                                  bool along_columns) {
  if (segments_ == kEpilogueSegments) return TooMany("epilogues", kEpilogueSegments);
  SegmentBuilder segment(*this, dims, along_columns);
  RETURN_IF_ERROR(segment.Start(start));
  for (const Node* node : nodes) RETURN_IF_ERROR(segment.Compute(*node));
  ASSIGN_OR_RETURN(const std::vector<EpilogueStep> steps, segment.Finish(result));
  if (steps_ + steps.size() > kEpilogueSteps) return TooMany("steps", kEpilogueSteps);
  std::copy(steps.begin(), steps.end(), program_.steps + steps_);
  const int end = steps_ + static_cast<int>(steps.size());
  program_.segments[segments_++] = {static_cast<uint16_t>(steps_), static_cast<uint16_t>(end)};
  steps_ = end;
  return absl::OkStatus();
}

int EpilogueBuilder::FullOperand(int segment, absl::Span<const int64_t> dims, DType dtype) const {
  const EpilogueProgram::Segment range = program_.segments[segment];
  for (int i = range.begin; i < range.end; ++i) {
    const EpilogueStep& step = program_.steps[i];
    if (step.code != EpilogueCode::kLoad) continue;
    const EpilogueTensor& t = program_.operands[step.args[0]];
    const Dims own = loads_[step.args[0]].value->dims();
    if (t.aligned && t.dtype == dtype &&
        std::equal(own.begin(), own.end(), dims.begin(), dims.end()))
      return step.args[0];
  }
  return -1;
}

void EpilogueBuilder::Bind(KernelCall& call, size_t at) const {
  for (size_t i = 0; i < loads_.size(); ++i) {
    call.Bind(at + offsetof(EpilogueProgram, operands) + i * sizeof(EpilogueTensor) +
                  offsetof(EpilogueTensor, data),
              loads_[i].slot);
  }
  for (size_t i = 0; i < stores_.size(); ++i) {
    call.Bind(at + offsetof(EpilogueProgram, outputs) + i * sizeof(EpilogueTensor) +
                  offsetof(EpilogueTensor, data),
              stores_[i].slot);
  }
}

}  // namespace onnx_cudnn

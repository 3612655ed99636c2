// Compiles a norm of rows and the element-wise Nodes around it, see ../../norm/row_group.cc.
#include "runtime/kernels/cuda/norm/row_group.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/kernels/cuda/pointwise/pointwise_chain_form.h"
#include "runtime/kernels/norm/row_group.h"

namespace onnx_cudnn {
namespace {

using Source = PointwiseSource;

constexpr int64_t kMostRows = int64_t{1} << 30;  // the last block may begin rows beyond them

absl::Status TooMany(std::string_view what, int most) {
  return absl::UnimplementedError(absl::StrCat("it has more than ", most, " ", what));
}

// Writes the programs of both segments and collects what they read and write.
class Builder {
 public:
  Builder(const KernelRequest& request, Operands& operands, const Value& x)
      : unit_(request.unit), operands_(operands), dims_(x.dims()) {}

  // x by the Nodes before the norm; without such Nodes it is read.
  absl::Status AddBefore(const std::vector<const Node*>& nodes, const Value& x) {
    if (nodes.empty()) {
      RETURN_IF_ERROR(Read(x, {.code = PointwiseCode::kMove, .source = Source::kOperand}));
      if (IsOutput(x)) RETURN_IF_ERROR(Write(x));
    } else {
      RETURN_IF_ERROR(AddProgram(nodes, nullptr, &x));
    }
    End(0);
    return absl::OkStatus();
  }

  // What the Nodes behind the norm compute from y.
  absl::Status AddBehind(const std::vector<const Node*>& nodes, const Value& y) {
    if (IsOutput(y)) RETURN_IF_ERROR(Write(y));
    if (!nodes.empty()) RETURN_IF_ERROR(AddProgram(nodes, &y, nullptr));
    End(1);
    return absl::OkStatus();
  }

  absl::StatusOr<RowGroupOperand> OperandOf(const Value& value) {
    const KernelOperand operand = operands_.Of(value);
    const Strides strides = BroadcastStrides(operand, dims_);
    RowGroupOperand made{.step = static_cast<int>(strides.strides[strides.rank - 1]),
                         .dtype = operand.dtype()};
    if (made.step > 1) return absl::InternalError("a row-major operand whose columns lie apart");
    for (int axis = strides.rank - 2; axis >= 0; --axis) {
      made.strides[strides.rank - 2 - axis] = strides.strides[axis];
    }
    return made;
  }

  RowGroupParameters& parameters() { return p_; }

  void Bind(KernelCall& call) const {
    for (size_t i = 0; i < reads_.size(); ++i) {
      const size_t at = offsetof(RowGroupParameters, operands) + i * sizeof(RowGroupOperand);
      call.Bind(at + offsetof(RowGroupOperand, data), reads_[i].data);
      if (!reads_[i].indices.has_value()) continue;
      call.Bind(at + offsetof(RowGroupOperand, indices), *reads_[i].indices);
    }
    for (size_t i = 0; i < writes_.size(); ++i) {
      call.Bind(offsetof(RowGroupParameters, outputs) + i * sizeof(RowGroupOutput) +
                    offsetof(RowGroupOutput, data),
                writes_[i]);
    }
  }

 private:
  bool IsOutput(const Value& value) const {
    const auto& outputs = unit_.boundary.outputs;
    return std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
  }

  absl::Status Append(const AccumulatorStep& step) {
    if (steps_ == kMostRowGroupSteps) return TooMany("steps", kMostRowGroupSteps);
    std::memcpy(&p_.program[steps_++], &step, sizeof(step));
    return absl::OkStatus();
  }

  absl::Status Read(const Value& value, const AccumulatorStep& step) {
    if (reads_.size() == kMostRowGroupOperands) return TooMany("operands", kMostRowGroupOperands);
    const auto inside = std::find(unit_.nodes.begin(), unit_.nodes.end(), value.producer());
    if (inside != unit_.nodes.end() && (*inside)->op() == "Gather") return ReadRows(**inside, step);
    if (inside != unit_.nodes.end()) {
      return absl::UnimplementedError(
          absl::StrCat(value.name(), " is computed before the norm and read behind it"));
    }
    ASSIGN_OR_RETURN(p_.operands[reads_.size()], OperandOf(value));
    reads_.push_back({.data = operands_.Of(value).slot});
    return Append(step);
  }

  // The rows of a table that a Gather takes.
  absl::Status ReadRows(const Node& gather, const AccumulatorStep& step) {
    const KernelOperand table = operands_.Of(gather.input(0));
    p_.operands[reads_.size()] = {.table = table.dims()[0],
                                  .is_wide = gather.input(1).dtype() == DType::kI64,
                                  .step = 1,
                                  .dtype = table.dtype()};
    reads_.push_back({.data = table.slot, .indices = operands_.Of(gather.input(1)).slot});
    return Append(step);
  }

  absl::Status Write(const Value& value) {
    if (writes_.size() == kMostRowGroupOutputs) return TooMany("outputs", kMostRowGroupOutputs);
    const KernelOperand operand = operands_.Of(value);
    p_.outputs[writes_.size()].dtype = operand.dtype();
    const uint8_t output = static_cast<uint8_t>(writes_.size());
    writes_.push_back(operand.slot);
    return Append({.code = PointwiseCode::kStore, .output = output});
  }

  // The end of a segment, rounded as the reference would store `value`.
  absl::Status Keep(const Value& value) {
    AccumulatorStep step{.code = PointwiseCode::kConvert};
    SetRounded(value.dtype(), step);
    return Append(step);
  }

  static void SetRounded(DType dtype, AccumulatorStep& step) {
    step.rounds = dtype == DType::kF16 || dtype == DType::kBF16;
    step.is_bf16 = dtype == DType::kBF16;
  }

  // start: in the accumulator at the begin, or nullptr; kept: is there at the end, or nullptr.
  absl::Status AddProgram(const std::vector<const Node*>& nodes, const Value* start,
                          const Value* kept) {
    ASSIGN_OR_RETURN(const PointwiseProgram program, CompileProgram(UnitOf(nodes)));
    for (const PointwiseInstruction& instruction : program.instructions) {
      const bool runs = program.interpreter == PointwiseInterpreter::kNarrow &&
                        IsChainCode(instruction.code) && instruction.saved_in <= 0;
      if (!runs) return absl::UnimplementedError("its element-wise ops are not a chain");
      AccumulatorStep step = StepOf(instruction);
      SetRounded(instruction.rounded, step);
      if (step.code == PointwiseCode::kStore) {
        const Value& value = *program.outputs[instruction.index];
        if (&value == kept) RETURN_IF_ERROR(Keep(value));
        if (IsOutput(value)) RETURN_IF_ERROR(Write(value));
      } else if (step.source == Source::kOperand) {
        const Value& value = *program.operands[instruction.index];
        if (&value == start) {
          step.source = Source::kRegister;
          step.output = kStartRegister;
          RETURN_IF_ERROR(Append(step));
        } else {
          RETURN_IF_ERROR(Read(value, step));
        }
      } else {
        step.output = kSavedRegister;
        RETURN_IF_ERROR(Append(step));
      }
    }
    return absl::OkStatus();
  }

  void End(int segment) {
    p_.ends[segment] = {static_cast<int16_t>(steps_), static_cast<int16_t>(reads_.size())};
  }

  const Unit& unit_;
  Operands& operands_;
  const Dims dims_;
  RowGroupParameters p_;
  int steps_ = 0;
  struct Addresses {
    Slot data;
    std::optional<Slot> indices = std::nullopt;
  };
  std::vector<Addresses> reads_;
  std::vector<Slot> writes_;
};

// A row by part of a warp, by a warp, or by a block.
LaunchShape PlaceRows(const Dims& dims, RowShape& rows) {
  constexpr int kWarp = 32, kFewThreads = 128;
  const int64_t columns = dims.back(), groups = (columns + kRowGroupLanes - 1) / kRowGroupLanes;
  rows.rows = ElementsOf(dims) / columns;
  rows.extent = rows.pitch = static_cast<int>(columns);
  rows.whole = columns % kRowGroupLanes == 0;
  rows.threads = groups <= kWarp ? PowerOfTwoFrom(groups)
                                 : static_cast<int>((groups + kWarp - 1) / kWarp * kWarp);
  LaunchShape shape;
  shape.block.x = static_cast<unsigned>(rows.threads <= kWarp ? kFewThreads : rows.threads);
  const int64_t of_block = shape.block.x / rows.threads;
  shape.grid.x = static_cast<unsigned>((rows.rows + of_block - 1) / of_block);
  return shape;
}

DType RoundedBy(const AccumulatorStep& step) {
  if (!step.rounds) return DType::kUndefined;
  return step.is_bf16 ? DType::kBF16 : DType::kF16;
}

// Adds a step of segment 0 to `sum`; false: it is more than a sum.
bool ReadBefore(const AccumulatorStep& step, RowGroupSum& sum) {
  const bool is_first = sum.addends == 0;
  const DType rounded = RoundedBy(step);
  if (step.source == Source::kOperand) {
    if (sum.addends == kMostRowGroupAddends || sum.x_output >= 0) return false;
    sum.rounded[sum.addends++] = rounded;
    return step.code == (is_first ? PointwiseCode::kMove : PointwiseCode::kAdd);
  }
  if (is_first) return false;
  if (step.code == PointwiseCode::kStore) {
    if (sum.x_output >= 0) return false;
    sum.x_output = step.output;
    return true;
  }
  DType& last = sum.rounded[sum.addends - 1];
  if (step.code != PointwiseCode::kConvert || step.source != Source::kNone) return false;
  if (last != DType::kUndefined && last != rounded) return false;
  last = rounded;
  return true;
}

// The same for segment 1. `behind` is what y was rounded to before.
bool ReadBehind(const AccumulatorStep& step, const RowGroupParameters& parameters, DType& behind,
                RowGroupSum& sum) {
  if (step.code == PointwiseCode::kStore) {
    sum.end_output = step.output + 1;
    return behind == DType::kUndefined || behind == parameters.outputs[step.output].dtype;
  }
  const bool reads_y = step.code == PointwiseCode::kMove && step.source == Source::kRegister &&
                       step.output == kStartRegister;
  const bool converts = step.code == PointwiseCode::kConvert && step.source == Source::kNone;
  if ((!reads_y && !converts) || behind != DType::kUndefined) return false;
  behind = RoundedBy(step);
  return true;
}

}  // namespace

RowGroupSum SumOf(const RowGroupParameters& parameters) {
  RowGroupSum sum;
  DType behind = DType::kUndefined;
  for (int at = 0; at < parameters.ends[1].steps; ++at) {
    const auto step = std::bit_cast<AccumulatorStep>(parameters.program[at]);
    const bool fits = at < parameters.ends[0].steps ? ReadBefore(step, sum)
                                                    : ReadBehind(step, parameters, behind, sum);
    if (!fits || step.saves) return {};
  }
  sum.first_output = sum.x_output >= 0 ? 1 : 0;
  return sum;
}

absl::StatusOr<KernelCode> CompileRowGroup(const KernelRequest& request) {
  const RowGroup group = RowGroupOf(request.unit.nodes);
  const Node& norm = *group.norm;
  const Value& x = norm.input(0);
  const Value& y = norm.output(0);
  Operands operands(request);
  Builder builder(request, operands, x);
  RETURN_IF_ERROR(builder.AddBefore(group.before, x));
  RETURN_IF_ERROR(builder.AddBehind(group.behind, y));
  RowGroupParameters& p = builder.parameters();
  p.about_zero = norm.op() == "RMSNormalization";
  p.epsilon = norm.attrs().Float("epsilon", 1e-5F);
  p.dtype = y.dtype();
  const Dims dims = x.dims();
  if (x.elements() / dims.back() > kMostRows) {
    return absl::UnimplementedError(absl::StrCat("it has more than ", kMostRows, " rows"));
  }
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    p.axes[x.rank() - 2 - axis] = FastDivide<uint32_t>(dims[axis]);
  }
  const LaunchShape shape = PlaceRows(dims, p.rows);
  p.sum = SumOf(p);
  const bool has_bias = !p.about_zero && norm.has_input(2);
  ASSIGN_OR_RETURN(p.scale, builder.OperandOf(norm.input(1)));
  if (has_bias) {
    ASSIGN_OR_RETURN(p.bias, builder.OperandOf(norm.input(2)));
  }
  KernelCall call = RowGroupCall(shape, p);
  builder.Bind(call);
  call.Bind(offsetof(RowGroupParameters, scale) + offsetof(RowGroupOperand, data),
            operands.Of(norm.input(1)).slot);
  if (has_bias) {
    call.Bind(offsetof(RowGroupParameters, bias) + offsetof(RowGroupOperand, data),
              operands.Of(norm.input(2)).slot);
  }
  KernelCode code;
  if (!group.gathers.empty()) {
    call.Bind(offsetof(RowGroupParameters, fault), Slot::Fault());
    code.fault = [dims = group.gathers[0]->input(0).dims()](uint64_t word) {
      return IndexFault(word, dims);
    };
  }
  code.constants = operands.TakeConstants();
  code.calls.push_back(std::move(call));
  return code;
}

}  // namespace onnx_cudnn

// Compiles ops on rows and the element-wise Nodes around them, see ../../norm/row_group.cc.
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

bool IsGroupCode(PointwiseCode code) {
  return IsChainCode(code) || code == PointwiseCode::kTest || code == PointwiseCode::kSelect;
}

absl::Status TooMany(std::string_view what, int most) {
  return absl::UnimplementedError(absl::StrCat("it has more than ", most, " ", what));
}

// Writes the programs of the segments and collects what they read and write.
class Builder {
 public:
  Builder(const KernelRequest& request, Operands& operands, const RowGroup& group)
      : unit_(request.unit), operands_(operands), group_(group), dims_(group.x().dims()) {}

  absl::Status AddSegments() {
    for (const Node* node : group_.row_ops) {
      p_.ops[p_.count++] = {*RowOpOf(*node), node->output(0).dtype()};
    }
    for (; segment_ <= p_.count; ++segment_) {
      RETURN_IF_ERROR(AddSegment());
      p_.ends[segment_] = {static_cast<int16_t>(steps_), static_cast<int16_t>(reads_.size())};
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RowGroupOperand> OperandOf(const Value& value) {
    const KernelOperand operand = operands_.Of(value);
    const bool lacks_columns = segment_ > 0 && segment_ <= p_.count && ReadsShorterRank();
    Dims dims = dims_;
    if (lacks_columns) dims.pop_back();
    Strides strides = BroadcastStrides(operand, dims);
    if (lacks_columns) strides.strides[strides.rank++] = 0;
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

  // Whether a later segment reads `value`.
  bool IsReadLater(const Value& value) const {
    return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
      return std::any_of(group_.parts.begin() + segment_ + 1, group_.parts.end(),
                         [&](const auto& part) { return Contains(part, use.node); });
    });
  }

  // Whether the op before dropped the axis that it reduced.
  bool ReadsShorterRank() const {
    return group_.row_ops[segment_ - 1]->output(0).rank() < static_cast<int>(dims_.size());
  }

  absl::Status AddSegment() {
    const Value* start = segment_ == 0 ? nullptr : &group_.row_ops[segment_ - 1]->output(0);
    const Value* end = segment_ < p_.count ? &group_.row_ops[segment_]->input(0) : nullptr;
    const std::vector<const Node*>& nodes = group_.parts[segment_];
    if (start != nullptr) RETURN_IF_ERROR(Give(*start));
    if (!nodes.empty()) return AddProgram(nodes, start, end);
    if (start != nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(Read(*end, {.code = PointwiseCode::kMove, .source = Source::kOperand}));
    return IsOutput(*end) ? Write(*end) : absl::OkStatus();
  }

  // Gives the accumulator, which is `value`, to its readers outside of the segment.
  absl::Status Give(const Value& value) {
    if (IsOutput(value)) RETURN_IF_ERROR(Write(value));
    if (!IsReadLater(value)) return absl::OkStatus();
    kept_ = &value;
    return Append({.code = PointwiseCode::kStore, .output = kKeptOutput});
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
      return absl::UnimplementedError(absl::StrCat(value.name(), " is not kept"));
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
    p_.outputs[writes_.size()] = {.dtype = operand.dtype(), .of_row = value.dims() != dims_};
    const uint8_t output = static_cast<uint8_t>(writes_.size());
    writes_.push_back(operand.slot);
    return Append({.code = PointwiseCode::kStore, .output = output});
  }

  // The end of a segment, rounded as the reference would store `value`.
  absl::Status Round(const Value& value) {
    AccumulatorStep step{.code = PointwiseCode::kConvert};
    SetRounded(value.dtype(), step);
    return Append(step);
  }

  static void SetRounded(DType dtype, AccumulatorStep& step) {
    step.rounds = dtype == DType::kF16 || dtype == DType::kBF16;
    step.is_bf16 = dtype == DType::kBF16;
  }

  // start: in the accumulator at the begin, or nullptr; end: is there at the end, or nullptr.
  absl::Status AddProgram(const std::vector<const Node*>& nodes, const Value* start,
                          const Value* end) {
    ASSIGN_OR_RETURN(const PointwiseProgram program, CompileProgram(UnitOf(nodes)));
    for (const PointwiseInstruction& instruction : program.instructions) {
      const bool runs = program.interpreter == PointwiseInterpreter::kNarrow &&
                        IsGroupCode(instruction.code) && instruction.saved_in <= 0;
      if (!runs) return absl::UnimplementedError("its element-wise ops are not a chain");
      AccumulatorStep step = StepOf(instruction);
      SetRounded(instruction.rounded, step);
      if (step.code == PointwiseCode::kStore) {
        const Value& value = *program.outputs[instruction.index];
        if (&value == end) RETURN_IF_ERROR(Round(value));
        RETURN_IF_ERROR(Give(value));
      } else if (step.source == Source::kOperand) {
        const Value& value = *program.operands[instruction.index];
        if (&value == start || &value == kept_) {
          step.source = Source::kRegister;
          step.output = &value == start ? kStartRegister : kKeptRegister;
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

  const Unit& unit_;
  Operands& operands_;
  const RowGroup& group_;
  const Dims dims_;
  RowGroupParameters p_;
  int segment_ = 0;
  const Value* kept_ = nullptr;  // which kKeptRegister holds
  int steps_ = 0;
  struct Addresses {
    Slot data;
    std::optional<Slot> indices = std::nullopt;
  };
  std::vector<Addresses> reads_;
  std::vector<Slot> writes_;
};

// The most elements of a thread. Many suit rows of whose loads few would be in flight together; few
// suit rows that are in L2 (6,304 of 768 in f16 take 12.7 µs, with many 13.6), and short ones,
// whose accesses would lie apart.
int LanesOf(const Dims& dims, const RowGroupSum& sum, const DeviceInfo& info) {
  constexpr int64_t kWholeColumns = 128, kColumns = 256, kBlockColumns = 4096;
  const int64_t columns = dims.back();
  if (sum.addends == 0) return kRowGroupLanes;
  const bool is_long = columns > (columns % kRowGroupLanes == 0 ? kWholeColumns - 1 : kColumns);
  const bool is_many = ElementsOf(dims) > info.l2_bytes / 4;  // half of it in 16 bits
  return columns > kBlockColumns || (is_long && is_many) ? kWideRowGroupLanes : kRowGroupLanes;
}

// A row by part of a warp, by a warp, or by a block.
LaunchShape PlaceRows(const Dims& dims, RowGroupParameters& p) {
  constexpr int kWarp = 32, kFewThreads = 128;
  RowShape& rows = p.rows;
  const int64_t columns = dims.back(), groups = (columns + p.lanes - 1) / p.lanes;
  rows.rows = ElementsOf(dims) / columns;
  rows.extent = rows.pitch = static_cast<int>(columns);
  rows.whole = columns % kRowGroupLanes == 0;
  const bool by_warp = !rows.whole && p.lanes > kRowGroupLanes;  // its accesses are adjacent
  rows.threads = groups <= kWarp ? (by_warp ? kWarp : PowerOfTwoFrom(groups))
                                 : static_cast<int>((groups + kWarp - 1) / kWarp * kWarp);
  const int units = rows.extent / (rows.whole ? kRowGroupLanes : 1);
  p.turns = units / rows.threads;
  p.lanes_of_last_turn = units % rows.threads;
  LaunchShape shape;
  shape.block.x = static_cast<unsigned>(rows.threads <= kWarp ? kFewThreads : rows.threads);
  const int64_t of_block = shape.block.x / rows.threads;
  shape.grid.x = static_cast<unsigned>((rows.rows + of_block - 1) / of_block);
  return shape;
}

// The axes before the rows, the innermost first; neighbours along which every operand advances
// evenly are one.
void SetAxes(const Dims& dims, RowGroupParameters& p) {
  std::vector<RowGroupOperand*> operands = {&p.scale, &p.bias};
  for (int i = 0; i < p.ends[p.count].reads; ++i) operands.push_back(&p.operands[i]);
  int64_t extents[kMostRowGroupAxes] = {1};
  int last = 0;
  for (int a = 0; a < static_cast<int>(dims.size()) - 1; ++a) {
    const int64_t extent = dims[dims.size() - 2 - a];
    if (extent == 1) continue;
    const bool joins = extents[last] == 1 ||
                       std::all_of(operands.begin(), operands.end(), [&](const auto* operand) {
                         return operand->strides[a] == operand->strides[last] * extents[last];
                       });
    if (!joins) ++last;
    for (RowGroupOperand* operand : operands) {
      if (!joins || extents[last] == 1) operand->strides[last] = operand->strides[a];
    }
    extents[last] = joins ? extents[last] * extent : extent;
  }
  p.axis_count = last + 1;
  for (int a = 0; a <= last; ++a) p.axes[a] = FastDivide<uint32_t>(extents[a]);
}

// nullptr: the group has none.
const Node* NormOf(const RowGroup& group) {
  const auto norm = std::find_if(group.row_ops.begin(), group.row_ops.end(),
                                 [](const Node* node) { return IsNorm(*RowOpOf(*node)); });
  return norm == group.row_ops.end() ? nullptr : *norm;
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
  const bool is_scale = step.code == PointwiseCode::kMul && step.source == Source::kNumber;
  if (is_scale && sum.addends == 1 && sum.factor == 1 && sum.x_output < 0 &&
      sum.rounded[0] == DType::kUndefined) {
    sum.factor = step.number;
    sum.rounded[0] = rounded;
    return true;
  }
  if (step.code == PointwiseCode::kStore) {
    if (sum.x_output >= 0 || step.output == kKeptOutput) return false;
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
  if (parameters.count > 1) return sum;
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
  const Dims dims = group.x().dims();
  if (ElementsOf(dims) / dims.back() > kMostRows) {
    return absl::UnimplementedError(absl::StrCat("it has more than ", kMostRows, " rows"));
  }
  Operands operands(request);
  Builder builder(request, operands, group);
  RETURN_IF_ERROR(builder.AddSegments());
  RowGroupParameters& p = builder.parameters();
  p.sum = SumOf(p);
  p.lanes = LanesOf(dims, p.sum, request.target.info);
  const LaunchShape shape = PlaceRows(dims, p);
  const Node* norm = NormOf(group);
  const Value *scale = norm == nullptr ? nullptr : &norm->input(1),
              *bias = norm != nullptr && norm->has_input(2) ? &norm->input(2) : nullptr;
  if (norm != nullptr) p.epsilon = norm->attrs().Float("epsilon", 1e-5F);
  if (scale != nullptr) {
    ASSIGN_OR_RETURN(p.scale, builder.OperandOf(*scale));
  }
  if (bias != nullptr) {
    ASSIGN_OR_RETURN(p.bias, builder.OperandOf(*bias));
  }
  SetAxes(dims, p);
  KernelCall call = RowGroupCall(shape, p);
  builder.Bind(call);
  if (scale != nullptr) {
    call.Bind(offsetof(RowGroupParameters, scale) + offsetof(RowGroupOperand, data),
              operands.Of(*scale).slot);
  }
  if (bias != nullptr) {
    call.Bind(offsetof(RowGroupParameters, bias) + offsetof(RowGroupOperand, data),
              operands.Of(*bias).slot);
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

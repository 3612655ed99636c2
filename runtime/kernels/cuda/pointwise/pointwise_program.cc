#include "runtime/kernels/cuda/pointwise/pointwise_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/pointwise/pointwise_flat.h"

namespace onnx_cudnn {
namespace {

using Code = PointwiseCode;
using Source = PointwiseSource;
using Type = PointwiseType;
using Operation = FlatOperation;

// Codes, and those of the same functions whose b is the instruction's number.
constexpr std::pair<Code, Code> kNumberForms[] = {{Code::kAdd, Code::kAddNumber},
                                                  {Code::kMul, Code::kMulNumber},
                                                  {Code::kMax, Code::kMaxNumber},
                                                  {Code::kMin, Code::kMinNumber}};
// Codes, and those of the same functions with a and b exchanged. For kMax and kMin this affects
// only the sign of a zero.
constexpr std::pair<Code, Code> kExchanged[] = {{Code::kAdd, Code::kAdd},
                                                {Code::kMul, Code::kMul},
                                                {Code::kEqual, Code::kEqual},
                                                {Code::kAnd, Code::kAnd},
                                                {Code::kOr, Code::kOr},
                                                {Code::kXor, Code::kXor},
                                                {Code::kBitAnd, Code::kBitAnd},
                                                {Code::kBitOr, Code::kBitOr},
                                                {Code::kBitXor, Code::kBitXor},
                                                {Code::kMax, Code::kMax},
                                                {Code::kMin, Code::kMin},
                                                {Code::kSub, Code::kSubReversed},
                                                {Code::kSubReversed, Code::kSub},
                                                {Code::kDiv, Code::kDivReversed},
                                                {Code::kDivReversed, Code::kDiv},
                                                {Code::kLess, Code::kGreater},
                                                {Code::kLessOrEqual, Code::kGreaterOrEqual}};

// Register allocation: the accumulator holds the last result, registers hold results that are read
// later.
class Emitter {
 public:
  Emitter(const std::vector<FlatTerm>& terms, const std::vector<Operation>& operations,
          PointwiseInterpreter interpreter)
      : terms_(terms),
        operations_(operations),
        is_wide_(interpreter >= PointwiseInterpreter::kWide),
        reads_(terms.size()),
        register_of_(terms.size(), -1) {
    for (int r = LimitsOf(interpreter).registers; r-- > 0;) free_.push_back(r);
    for (const Operation& operation : operations) {
      for (const int arg : operation.args) ++reads_[arg];
    }
  }

  // Unimplemented: there are too few registers.
  absl::StatusOr<std::vector<PointwiseInstruction>> Emit() {
    for (const Operation& operation : operations_) {
      RETURN_IF_ERROR(operation.code == Code::kSelect ? EmitSelect(operation)
                                                      : EmitOperation(operation));
      if (operation.output < 0) continue;
      // Storing rounds as well.
      if (!is_wide_ && reads_[operation.result] == 0) {
        instructions_.back().rounded = DType::kUndefined;
      }
      instructions_.push_back(
          {.code = Code::kStore, .index = static_cast<uint8_t>(operation.output)});
    }
    return std::move(instructions_);
  }

 private:
  bool IsResult(int term) const { return terms_[term].kind == FlatTerm::Kind::kResult; }

  // Saves the accumulator to a register if it will be read again.
  absl::Status Save() {
    if (accumulator_ < 0 || !IsResult(accumulator_)) return absl::OkStatus();
    if (reads_[accumulator_] == 0 || register_of_[accumulator_] >= 0) return absl::OkStatus();
    if (free_.empty()) return absl::UnimplementedError("it has too many intermediate results");
    register_of_[accumulator_] = free_.back();
    instructions_[made_at_].saved_in = static_cast<int8_t>(free_.back());
    free_.pop_back();
    return absl::OkStatus();
  }

  void Read(int term) {
    if (--reads_[term] > 0 || register_of_[term] < 0) return;
    free_.push_back(register_of_[term]);
    register_of_[term] = -1;
  }

  PointwiseInstruction From(int term, Code code, Type type) const {
    PointwiseInstruction instruction{.code = code, .type = type};
    switch (terms_[term].kind) {
      case FlatTerm::Kind::kNumber:
        instruction.source = Source::kNumber;
        instruction.number = terms_[term].number;
        break;
      case FlatTerm::Kind::kOperand:
        instruction.source = Source::kOperand;
        instruction.index = static_cast<uint8_t>(terms_[term].index);
        break;
      case FlatTerm::Kind::kResult:
        instruction.source = Source::kRegister;
        instruction.index = static_cast<uint8_t>(register_of_[term]);
        break;
    }
    return instruction;
  }

  void Append(const PointwiseInstruction& instruction, int result) {
    made_at_ = instructions_.size();
    instructions_.push_back(instruction);
    accumulator_ = result;
  }

  // Loads `term` into the accumulator.
  absl::Status Fetch(int term, Type type) {
    if (accumulator_ == term) return absl::OkStatus();
    RETURN_IF_ERROR(Save());
    Append(From(term, Code::kMove, type), term);
    return absl::OkStatus();
  }

  absl::Status EmitOperation(const Operation& operation) {
    Code code = operation.code;
    int first = operation.args[0], second = operation.args.size() > 1 ? operation.args[1] : -1;
    const Code exchanged = second < 0 ? Code::kMove : Exchanged(code);
    if (exchanged != Code::kMove && first != accumulator_ &&
        (second == accumulator_ || terms_[first].kind == FlatTerm::Kind::kNumber)) {
      std::swap(first, second);
      code = exchanged;
    }
    if (code == Code::kMove) return EmitMove(operation, first);
    RETURN_IF_ERROR(Fetch(first, operation.type));
    Read(first);
    // The operation overwrites the accumulator, which may also be its second argument.
    RETURN_IF_ERROR(Save());
    PointwiseInstruction instruction{.code = code, .type = operation.type};
    if (second >= 0) {
      instruction = From(second, code, operation.type);
      Read(second);
      if (instruction.source == Source::kNumber && WithNumber(code) != code) {
        instruction.code = WithNumber(code);
      }
      if (TakesNumber(instruction.code)) instruction.source = Source::kNone;
    }
    instruction.source_type = operation.source_type;
    instruction.rounded = operation.rounded;
    Append(instruction, operation.result);
    return absl::OkStatus();
  }

  static bool TakesNumber(Code code) { return code >= Code::kAddNumber && code <= Code::kLeaky; }

  // A Node that only rounds: done in place if its operand is in the accumulator.
  absl::Status EmitMove(const Operation& operation, int from) {
    RETURN_IF_ERROR(accumulator_ == from ? absl::OkStatus() : Save());
    if (accumulator_ == from) {
      Read(from);
      RETURN_IF_ERROR(Save());
      ++reads_[from];
    }
    const bool is_held = IsResult(from) && register_of_[from] < 0;
    PointwiseInstruction instruction = is_held ? PointwiseInstruction{.code = Code::kConvert,
                                                                      .type = operation.type,
                                                                      .source_type = operation.type}
                                               : From(from, Code::kMove, operation.type);
    Read(from);
    instruction.rounded = operation.rounded;
    Append(instruction, operation.result);
    return absl::OkStatus();
  }

  // kTest sets the condition, then kSelect selects the accumulator or its source.
  absl::Status EmitSelect(const Operation& operation) {
    const int condition = operation.args[0], yes = operation.args[1], no = operation.args[2];
    RETURN_IF_ERROR(Fetch(condition, operation.type));
    instructions_.push_back({.code = Code::kTest, .type = operation.type});
    Read(condition);
    RETURN_IF_ERROR(Fetch(no, operation.type));
    Read(no);
    RETURN_IF_ERROR(Save());
    PointwiseInstruction select = From(yes, Code::kSelect, operation.type);
    Read(yes);
    select.rounded = operation.rounded;
    Append(select, operation.result);
    return absl::OkStatus();
  }

  const std::vector<FlatTerm>& terms_;
  const std::vector<Operation>& operations_;
  const bool is_wide_;
  std::vector<int> reads_;        // by term: remaining reads
  std::vector<int> register_of_;  // by term; -1: not in a register
  std::vector<int> free_;
  std::vector<PointwiseInstruction> instructions_;
  int accumulator_ = -1;  // its term
  size_t made_at_ = 0;    // index of the instruction that set it
};

absl::Status CheckLimits(const PointwiseProgram& program) {
  const auto check = [](size_t count, int most, std::string_view what) {
    if (count <= static_cast<size_t>(most)) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("it has ", count, " ", what, ", more than ", most));
  };
  RETURN_IF_ERROR(check(program.instructions.size(), kMostPointwiseInstructions, "instructions"));
  RETURN_IF_ERROR(check(program.operands.size(), kMostPointwiseOperands, "operands"));
  return check(program.outputs.size(), kMostPointwiseOutputs, "outputs");
}

}  // namespace

Code WithNumber(Code code) {
  for (const auto& [plain, form] : kNumberForms) {
    if (code == plain) return form;
  }
  return code;
}

Code WithoutNumber(Code code) {
  for (const auto& [plain, form] : kNumberForms) {
    if (code == form) return plain;
  }
  return code;
}

Code Exchanged(Code code) {
  for (const auto& [first, second] : kExchanged) {
    if (code == first) return second;
  }
  return Code::kMove;
}

absl::StatusOr<PointwiseProgram> CompileProgram(const Unit& unit) {
  ASSIGN_OR_RETURN(FlatNodes flat, Flatten(unit));
  const bool is_common = std::all_of(flat.operations.begin(), flat.operations.end(),
                                     [](const Operation& o) { return IsCommon(o.code); });
  using M = PointwiseInterpreter;
  const M common = flat.is_wide ? M::kWide : M::kNarrow,
          full = flat.is_wide ? M::kWideFull : M::kNarrowFull;
  absl::StatusOr<std::vector<PointwiseInstruction>> instructions;
  M interpreter = is_common ? common : full;
  instructions = Emitter(flat.terms, flat.operations, interpreter).Emit();
  if (!instructions.ok() && interpreter != full) {
    interpreter = full;
    instructions = Emitter(flat.terms, flat.operations, interpreter).Emit();
  }
  RETURN_IF_ERROR(instructions.status());
  PointwiseProgram program{*std::move(instructions), std::move(flat.operands),
                           std::move(flat.outputs), interpreter};
  RETURN_IF_ERROR(CheckLimits(program));
  return program;
}

}  // namespace onnx_cudnn

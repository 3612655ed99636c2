#include "runtime/kernels/cuda/pointwise/pointwise_chain_form.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

using Code = PointwiseCode;
using Source = PointwiseSource;

constexpr DTypeSet kChainTypes = {DType::kF16, DType::kBF16, DType::kF32};

bool HasType(const std::vector<const Value*>& values, DType dtype) {
  return std::all_of(values.begin(), values.end(),
                     [=](const Value* v) { return v->dtype() == dtype; });
}

// Codes that return one of their arguments, possibly with another sign, so that elements stay
// elements.
bool ChoosesResult(Code code) {
  switch (code) {
    case Code::kMove:
    case Code::kConvert:
    case Code::kStore:
    case Code::kMax:
    case Code::kMin:
    case Code::kMaxNumber:
    case Code::kMinNumber:
    case Code::kNeg:
    case Code::kAbs:
      return true;
    default:
      return false;
  }
}

float NumberIn(const PointwiseInstruction& instruction) {
  return std::bit_cast<float>(static_cast<uint32_t>(instruction.number));
}

bool IsElement(float number, DType dtype) {
  return dtype == DType::kF16 ? Widen<float>(Narrow<Float16>(number)) == number
                              : Widen<float>(Narrow<BFloat16>(number)) == number;
}

// Pairs are possible if every result, and every number, is an element of `dtype`.
ChainArithmetic ArithmeticOf(const std::vector<PointwiseInstruction>& program, DType dtype) {
  if (dtype == DType::kF32) return ChainArithmetic::kF32;
  for (size_t i = 0; i < program.size(); ++i) {
    const PointwiseInstruction& step = program[i];
    // A result that only a store reads is rounded by the store.
    const bool rounds =
        step.rounded == dtype || (i + 1 < program.size() && program[i + 1].code == Code::kStore);
    if (!rounds && !ChoosesResult(step.code)) return ChainArithmetic::kF32;
    // kLeaky multiplies in f32.
    if (step.code != Code::kLeaky && !IsElement(NumberIn(step), dtype)) {
      return ChainArithmetic::kF32;
    }
  }
  return ChainArithmetic::kPairs;
}

// Sets inner, period and access of `operand`; returns false if operand `k` of the layout has other
// strides.
bool PlaceBroadcast(const LaneLayout& layout, size_t k, int vector, ChainOperand& operand) {
  int64_t inner = 1, period = 1;
  bool has_ended = false;
  for (size_t a = layout.axes.size(); a-- > 0;) {
    const LaneAxis& axis = layout.axes[a];
    if (axis.extent == 1) continue;
    if (axis.strides[k] == 0) {
      has_ended = period > 1;
      if (!has_ended) inner *= axis.extent;
    } else if (!has_ended && axis.strides[k] == period) {
      period *= axis.extent;
    } else {
      return false;
    }
  }
  operand.inner = FastDivide<uint32_t>(inner);
  operand.period = FastDivide<uint32_t>(period);
  operand.access = PointwiseAccess::kGathered;
  if (inner == 1 && period % vector == 0) operand.access = PointwiseAccess::kRun;
  if (period == 1 || inner % vector == 0) operand.access = PointwiseAccess::kRepeated;
  return true;
}

}  // namespace

bool IsChainCode(Code code) {
  switch (code) {
    case Code::kGreater:
    case Code::kGreaterOrEqual:
    case Code::kTest:
      return false;
    default:
      return !IsPrimitive(code) || IsComputedEverywhere(PrimitiveOf(code));
  }
}

AccumulatorStep StepOf(const PointwiseInstruction& instruction) {
  AccumulatorStep step{.code = WithoutNumber(instruction.code),
                       .source = instruction.source,
                       .rounds = instruction.rounded != DType::kUndefined,
                       .saves = instruction.saved_in >= 0,
                       .number = NumberIn(instruction)};
  if (step.code != instruction.code) step.source = Source::kNumber;
  if (step.code == Code::kStore) step.output = instruction.index;
  return step;
}

std::optional<PointwiseChain> ChainOf(const PointwiseProgram& program) {
  const std::vector<PointwiseInstruction>& all = program.instructions;
  const DType dtype = program.outputs[0]->dtype();
  if (program.interpreter != PointwiseInterpreter::kNarrow || !kChainTypes.Has(dtype) ||
      !HasType(program.operands, dtype) || !HasType(program.outputs, dtype)) {
    return std::nullopt;
  }
  const PointwiseInstruction& first = all[0];
  if (first.code != Code::kMove || first.source != Source::kOperand || first.saved_in >= 0) {
    return std::nullopt;
  }
  PointwiseChain chain{.dtype = dtype, .arithmetic = ArithmeticOf(all, dtype)};
  for (const PointwiseInstruction& instruction : all) {
    const bool rounds_to_another =
        instruction.rounded != DType::kUndefined && instruction.rounded != dtype;
    if (!IsChainCode(instruction.code) || instruction.saved_in > 0 || rounds_to_another) {
      return std::nullopt;
    }
    if (instruction.source == Source::kOperand) chain.reads.push_back(instruction.index);
    if (&instruction != &first) chain.steps.push_back(StepOf(instruction));
  }
  if (chain.steps.size() > kMostChainSteps || chain.reads.size() > kMostChainOperands ||
      program.outputs.size() > kMostChainOutputs) {
    return std::nullopt;
  }
  return chain;
}

std::optional<KernelCall> CompileChain(const PointwiseProgram& program, const LaneLayout& layout,
                                       const std::vector<KernelOperand>& operands,
                                       const std::vector<KernelOperand>& outputs,
                                       const DeviceInfo& info) {
  const std::optional<PointwiseChain> chain = ChainOf(program);
  if (!chain || layout.inner_elements > 0 || layout.lanes > kMostChainLanes) return std::nullopt;
  ChainParameters p{.lanes = layout.lanes,
                    .steps = static_cast<int>(chain->steps.size()),
                    .reads = static_cast<int>(chain->reads.size())};
  std::memcpy(p.program, chain->steps.data(), chain->steps.size() * sizeof(AccumulatorStep));
  const int vector = VectorLanes(BitsOf(chain->dtype) / 8);
  for (size_t i = 0; i < chain->reads.size(); ++i) {
    const size_t k = chain->reads[i];
    if (layout.lies_as_output[k]) continue;
    if (!PlaceBroadcast(layout, k, vector, p.operands[i])) return std::nullopt;
  }
  KernelCall call = ChainCall(chain->dtype, chain->arithmetic, info.multiprocessors, p);
  for (size_t i = 0; i < chain->reads.size(); ++i) {
    call.Bind(offsetof(ChainParameters, operands) + i * sizeof(ChainOperand) +
                  offsetof(ChainOperand, data),
              operands[chain->reads[i]].slot);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    call.Bind(offsetof(ChainParameters, outputs) + i * sizeof(void*), outputs[i].slot);
  }
  return call;
}

}  // namespace onnx_cudnn

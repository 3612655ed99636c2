// Compiles element-wise Nodes to a simple form or a chain if possible, otherwise to a program of
// the interpreter.
#include "runtime/kernels/cuda/pointwise/pointwise.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/pointwise/pointwise_chain_form.h"
#include "runtime/kernels/cuda/pointwise/pointwise_layout.h"
#include "runtime/kernels/cuda/pointwise/pointwise_program.h"
#include "runtime/kernels/cuda/pointwise/simple_form.h"

namespace onnx_cudnn {
namespace {

// Limit of shared memory: with more, fewer blocks of the narrow interpreter are resident.
constexpr int kMostStageBytes = 11 * 1024;

absl::Status CheckBroadcast(const LaneLayout& layout, const KernelOperand& operand) {
  if (layout.axes.size() > kMostPointwiseAxes || operand.format.lanes() > kMostExtent) {
    return absl::UnimplementedError("a broadcast operand has 2^31 elements or more");
  }
  for (const LaneAxis& axis : layout.axes) {
    if (axis.extent <= kMostExtent) continue;
    return absl::UnimplementedError(
        absl::StrCat("an axis of ", axis.extent, " elements, to which an operand broadcasts"));
  }
  return absl::OkStatus();
}

// Stores the operands in `parameters`, staged ones first; returns the new index of each.
absl::StatusOr<std::vector<int>> PlaceOperands(const LaneLayout& layout,
                                               const std::vector<KernelOperand>& operands,
                                               int vector, PointwiseParameters& parameters) {
  std::vector<PointwiseOperand> placed(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    PointwiseOperand& p = placed[k];
    p.dtype = operands[k].dtype();
    p.element_bytes = static_cast<uint8_t>(operands[k].element_bytes());
    if (layout.lies_as_output[k]) {
      const int bytes = kPointwiseThreads * vector * p.element_bytes;
      const bool fits = parameters.stage_bytes + bytes <= kMostStageBytes;
      if (vector * p.element_bytes < 4 || !fits) continue;  // 4: smallest copy of cp.async
      p.access = PointwiseAccess::kStaged;
      p.stage_at = parameters.stage_bytes;
      parameters.stage_bytes += bytes;
      ++parameters.staged;
      continue;
    }
    RETURN_IF_ERROR(CheckBroadcast(layout, operands[k]));
    p.access = AccessOf(layout, operands[k], k, vector);
    for (size_t a = 0; a < layout.axes.size(); ++a) {
      p.strides[a] = static_cast<int>(layout.axes[a].strides[k]);
    }
  }
  std::vector<int> places(operands.size());
  int next = 0;
  for (const bool staged : {true, false}) {
    for (size_t k = 0; k < operands.size(); ++k) {
      if ((placed[k].access == PointwiseAccess::kStaged) != staged) continue;
      parameters.operands[next] = placed[k];
      places[k] = next++;
    }
  }
  return places;
}

void PlaceAxes(const LaneLayout& layout, PointwiseParameters& parameters) {
  parameters.lanes = layout.lanes;
  parameters.is_large = layout.lanes > kMostExtent;
  parameters.inner_elements = static_cast<int>(layout.inner_elements);
  if (layout.axes.size() > kMostPointwiseAxes)
    return;  // no operand is broadcast, or CheckBroadcast refused
  parameters.axes = static_cast<int>(layout.axes.size());
  for (size_t a = 0; a < layout.axes.size(); ++a) {
    const int64_t extent = std::max<int64_t>(1, layout.axes[a].extent);
    if (extent <= kMostExtent) parameters.extents[a] = FastDivide<uint32_t>(extent);
    parameters.large_extents[a] = FastDivide<uint64_t>(extent);
  }
}

LaunchShape ShapeOf(const PointwiseParameters& parameters, PointwiseInterpreter interpreter,
                    const DeviceInfo& info) {
  const InterpreterLimits limits = LimitsOf(interpreter);
  const int64_t lanes_per_block = int64_t{kPointwiseThreads} * limits.vector;
  const int64_t blocks = (parameters.lanes + lanes_per_block - 1) / lanes_per_block;
  const int64_t most = int64_t{std::max(1, info.multiprocessors)} * limits.blocks;
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(std::min(blocks, most));
  shape.block.x = kPointwiseThreads;
  shape.shared_bytes = kPointwiseStages * parameters.stage_bytes;
  return shape;
}

}  // namespace

absl::StatusOr<KernelCode> CompilePointwise(const KernelRequest& request) {
  if (std::optional<KernelCode> simple = CompileSimple(request)) return *std::move(simple);
  ASSIGN_OR_RETURN(PointwiseProgram program, CompileProgram(request.unit));
  Operands found(request);
  std::vector<KernelOperand> operands, outputs;
  for (const Value* v : program.operands) operands.push_back(found.Of(*v));
  for (const Value* v : program.outputs) outputs.push_back(found.Of(*v));
  RETURN_IF_ERROR(CheckOutput(outputs[0]));
  for (const KernelOperand& output : outputs) {
    if (output.format == outputs[0].format && output.dims() == outputs[0].dims()) continue;
    return absl::UnimplementedError("its outputs have several layouts");
  }
  KernelCode code{.constants = found.TakeConstants()};
  LaneLayout layout = LayoutOf(outputs[0], operands);
  if (layout.lanes == 0) return code;

  if (std::optional<KernelCall> chain =
          CompileChain(program, layout, operands, outputs, request.target.info)) {
    code.calls.push_back(*std::move(chain));
    return code;
  }
  PointwiseParameters parameters;
  PlaceAxes(layout, parameters);
  const int vector = LimitsOf(program.interpreter).vector;
  ASSIGN_OR_RETURN(const std::vector<int> places,
                   PlaceOperands(layout, operands, vector, parameters));
  parameters.instructions = static_cast<int>(program.instructions.size());
  for (PointwiseInstruction& instruction : program.instructions) {
    if (instruction.source != PointwiseSource::kOperand) continue;
    instruction.index = static_cast<uint8_t>(places[instruction.index]);
  }
  std::copy(program.instructions.begin(), program.instructions.end(), parameters.program);
  for (size_t i = 0; i < outputs.size(); ++i) parameters.outputs[i].dtype = outputs[i].dtype();

  KernelCall call =
      PointwiseCall(program.interpreter,
                    ShapeOf(parameters, program.interpreter, request.target.info), parameters);
  for (size_t k = 0; k < operands.size(); ++k) {
    call.Bind(offsetof(PointwiseParameters, operands) + places[k] * sizeof(PointwiseOperand) +
                  offsetof(PointwiseOperand, data),
              operands[k].slot);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    call.Bind(offsetof(PointwiseParameters, outputs) + i * sizeof(PointwiseOutput) +
                  offsetof(PointwiseOutput, data),
              outputs[i].slot);
  }
  code.calls.push_back(std::move(call));
  return code;
}

}  // namespace onnx_cudnn

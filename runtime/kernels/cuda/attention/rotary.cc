// Compiles rotary embeddings, see ../../attention/rotary.cc.
#include "runtime/kernels/cuda/attention/rotary.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/attention/rotary.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/plan_sequence.h"

namespace onnx_cudnn {
namespace {

constexpr int kVectorBytes = 16;  // per access of a thread
constexpr int64_t kMostItems = int64_t{1} << 31;

// A part of the launch and the slots that its addresses are bound to.
struct Part {
  RotaryPart part;
  Slot x = Slot::Workspace(), y = x;
  std::optional<Slot> cosines, sines;
  std::optional<Slot> places;  // of rows in a cache
  std::optional<ScatterPlan> append;
  bool whole = true;
};

// The strides of all axes but the last, the innermost first.
RotaryOperand OperandOf(absl::Span<const int64_t> strides) {
  RotaryOperand operand;
  for (size_t i = 1; i < strides.size(); ++i) {
    operand.strides[i - 1] = strides[strides.size() - 1 - i];
  }
  return operand;
}

bool AreWhole(absl::Span<const int64_t> strides, int64_t offset, int width) {
  return offset % width == 0 && std::all_of(strides.begin(), strides.end() - 1,
                                            [&](int64_t stride) { return stride % width == 0; });
}

absl::StatusOr<Part> PartOf(const Rotary& rotary, const KernelRequest& request,
                            Operands& operands) {
  const std::optional<StridedView> view = ViewThrough(*rotary.x, request.unit.nodes);
  if (!view.has_value() || view->strides.back() != 1) {
    return absl::InternalError(absl::StrCat(rotary.x->name(), " has rows with gaps"));
  }
  const Dims dims = rotary.x->dims();
  const KernelOperand source = operands.Of(*view->source);
  const int width = kVectorBytes / source.element_bytes();
  Part made;
  RotaryPart& part = made.part;
  part.row = static_cast<int>(dims.back());
  part.pairs = static_cast<int>(rotary.turned / 2);
  part.interleaved = rotary.interleaved;
  made.whole = part.pairs % width == 0 && part.row % width == 0 &&
               AreWhole(view->strides, view->offset, width);
  part.x = OperandOf(view->strides);
  made.x = source.slot;
  made.x.offset += view->offset * source.element_bytes();
  const auto place = [&](const Value& value, RotaryOperand& operand, Slot& slot) {
    const KernelOperand found = operands.Of(value);
    Dims rows = dims;
    rows.back() = value.dim(value.rank() - 1);
    part.shares_angles = rows.back() == part.pairs;
    const Strides all = BroadcastStrides(found, rows);
    const absl::Span<const int64_t> strides(all.strides, all.rank);
    operand = OperandOf(strides);
    slot = found.slot;
    made.whole = made.whole && AreWhole(strides, 0, width);
  };
  if (rotary.cosines != nullptr) {
    place(*rotary.cosines, part.cosines, made.cosines.emplace(Slot::Workspace()));
    place(*rotary.sines, part.sines, made.sines.emplace(Slot::Workspace()));
  }
  made.y = operands.Of(rotary.y()).slot;
  for (size_t i = 1; i < dims.size(); ++i) {
    part.axes[i - 1] = FastDivide<uint64_t>(dims[dims.size() - 1 - i]);
  }
  if (rotary.append != nullptr) {
    ScatterPlan& plan = made.append.emplace();
    RETURN_IF_ERROR(PlanSequence(*rotary.append, plan));
    const Value& places = rotary.append->input(2);
    part.is_cache = true;
    part.places.is_wide = places.dtype() == DType::kI64;
    part.cache = SequencesOf(plan);
    made.places = operands.Of(places).slot;
  }
  return made;
}

// Binds the addresses of part `i`.
void BindPart(const Part& part, size_t i, KernelCall& call) {
  const size_t at = offsetof(RotaryParameters, parts) + i * sizeof(RotaryPart);
  const auto bind_data = [&](size_t operand, const std::optional<Slot>& slot) {
    if (slot.has_value()) call.Bind(at + operand + offsetof(RotaryOperand, data), *slot);
  };
  bind_data(offsetof(RotaryPart, x), part.x);
  bind_data(offsetof(RotaryPart, cosines), part.cosines);
  bind_data(offsetof(RotaryPart, sines), part.sines);
  call.Bind(at + offsetof(RotaryPart, y), part.y);
  if (!part.places.has_value()) return;
  call.Bind(at + offsetof(RotaryPart, places) + offsetof(Integers, at), *part.places)
      .Bind(at + offsetof(RotaryPart, fault), Slot::Fault());
}

// The error of a row that does not fit into a cache.
std::function<absl::Status(uint64_t)> FaultOfCaches(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (!part.append.has_value()) continue;
    return [plan = *part.append](uint64_t word) { return SequenceFault(FaultOf(word), plan); };
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<KernelCode> CompileRotary(const KernelRequest& request) {
  Operands operands(request);
  const std::vector<Rotary> rotaries = RotariesOf(request.unit.nodes);
  std::vector<Part> parts;
  for (const Rotary& rotary : rotaries) {
    if (parts.size() == kMostRotaries) return absl::InternalError("too many embeddings");
    ASSIGN_OR_RETURN(parts.emplace_back(), PartOf(rotary, request, operands));
  }
  const DType dtype = rotaries[0].x->dtype();
  const bool whole =
      std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.whole; });
  const int width = whole ? kVectorBytes / (BitsOf(dtype) / 8) : 1;
  RotaryParameters p;
  int64_t items = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    p.parts[i] = parts[i].part;
    const RotaryPart& part = p.parts[i];
    const int64_t threads = (part.row - part.pairs) / width;
    p.parts[i].threads = FastDivide<uint64_t>(threads);
    p.parts[i].items = rotaries[i].x->elements() / part.row * threads;
    items += p.parts[i].items;
  }
  if (items >= kMostItems) return absl::UnimplementedError("tensors of 2^31 vectors or more");
  KernelCode code;
  for (const Rotary& rotary : rotaries) {  // caches keep their other rows
    if (rotary.append == nullptr) continue;
    code.calls.push_back(KernelCall::Copy(operands.Of(rotary.y()).slot,
                                          operands.Of(rotary.append->input(0)).slot,
                                          rotary.y().bytes()));
  }
  code.constants = operands.TakeConstants();
  if (items == 0) return code;
  KernelCall call = RotaryCall(dtype, whole, p);
  for (size_t i = 0; i < parts.size(); ++i) BindPart(parts[i], i, call);
  code.calls.push_back(std::move(call));
  code.fault = FaultOfCaches(parts);
  return code;
}

}  // namespace onnx_cudnn

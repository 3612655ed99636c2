#include "runtime/tune/device_check.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {
namespace {

Placement RowMajorOf(const Value& value) {
  return {.format = Format::RowMajor(value.dims()), .space = Space::kDevice};
}

}  // namespace

// A Graph of ops with one output each.
class DeviceCheck::SmallGraph {
 public:
  Value& Input(DType dtype, const Dims& dims) {
    return graph_.AddInput("x", Type::Tensor(dtype, dims));
  }
  Value& Add(std::string op, std::vector<Value*> inputs, DType dtype, const Dims& dims,
             Attrs attrs = {}) {
    Node& node = graph_.AddNode(
        {.op = std::move(op), .inputs = std::move(inputs), .attrs = std::move(attrs)});
    graph_.SetType(node.output(0), Type::Tensor(dtype, dims));
    return node.output(0);
  }
  // The absolute value of `value` in f32.
  Value& Magnitude(Value& value) { return Add("Abs", {&InF32(value)}, DType::kF32, value.dims()); }
  Value& InF32(Value& value) {
    if (value.dtype() == DType::kF32) return value;
    return Add("Cast", {&value}, DType::kF32, value.dims(),
               {{"to", static_cast<int64_t>(DType::kF32)}});
  }
  // All Nodes as one unit on row-major operands, with result `output`.
  Candidate Whole(Value& output) {
    graph_.AddOutput("y", output);
    Candidate unit;
    for (const Node* node : graph_.TopologicalOrder()) unit.nodes.push_back(node);
    const Boundary boundary = BoundaryOf(unit.nodes);
    for (const Value* v : boundary.inputs) unit.inputs.push_back(RowMajorOf(*v));
    for (const Value* v : boundary.outputs) unit.outputs.push_back(RowMajorOf(*v));
    return unit;
  }
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
};

DeviceCheck::DeviceCheck(const Candidate& candidate, const Target& target, Device& device,
                         ConstantStore& constants, Reference& reference)
    : candidate_(candidate),
      whole_(BoundaryOf(candidate.nodes)),
      target_(target),
      device_(device),
      constants_(constants),
      reference_(reference),
      kernels_(reference.kernels()) {}

// Formats with padding or foreign lanes are checked on the host.
bool DeviceCheck::CanTell(const Step& step) const {
  if (kernels_ == nullptr || device_.reads_host_memory() || !StepRunner::RunsInPlace(step))
    return false;
  const auto is_plain = [](const Value& value, const Placement& placement) {
    return placement.space == Space::kDevice && !placement.format.has_foreign_lanes() &&
           BitsOf(value.dtype()) >= 8;
  };
  for (size_t i = 0; i < whole_.inputs.size(); ++i) {
    if (!is_plain(*whole_.inputs[i], candidate_.inputs[i])) return false;
  }
  for (size_t i = 0; i < whole_.outputs.size(); ++i) {
    const Value& value = *whole_.outputs[i];
    const Placement& placement = candidate_.outputs[i];
    const DType dtype = value.dtype();
    if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) return false;
    if (!is_plain(value, placement) || value.elements() == 0) return false;
    if (placement.format.lanes() != value.elements()) return false;
  }
  return true;
}

absl::StatusOr<bool> DeviceCheck::Agrees(const std::shared_ptr<const Step>& step,
                                         absl::Span<const Tolerance> tolerances) {
  if (!CanTell(*step)) return false;
  if (streams_ == nullptr) {
    ASSIGN_OR_RETURN(streams_, device_.CreateStreams(1));
  }
  std::vector<Memory> inputs;
  for (size_t i = 0; i < whole_.inputs.size(); ++i) {
    const Value& value = *whole_.inputs[i];
    Memory& placed = placed_[&value];
    if (placed == nullptr) {
      ASSIGN_OR_RETURN(const Memory memory, reference_.OnDevice(value));
      ASSIGN_OR_RETURN(placed, Reformatted(value, Format::RowMajor(value.dims()),
                                           candidate_.inputs[i].format, memory));
    }
    if (placed == nullptr) return false;
    inputs.push_back(placed);
  }
  ASSIGN_OR_RETURN(const auto runner,
                   StepRunner::Create(candidate_, step, device_, constants_, inputs));
  RETURN_IF_ERROR(runner->RunInPlace());
  for (size_t i = 0; i < whole_.outputs.size(); ++i) {
    const Value& value = *whole_.outputs[i];
    ASSIGN_OR_RETURN(const Memory found, Reformatted(value, candidate_.outputs[i].format,
                                                     Format::RowMajor(value.dims()),
                                                     runner->output(static_cast<int>(i))));
    if (found == nullptr) return false;
    ASSIGN_OR_RETURN(const bool close, AreClose(value, found, tolerances[i]));
    if (!close) return false;
  }
  return true;
}

// The result of the Engine `kernel` for a unit with one output; nullptr: it does not support the
// unit.
absl::StatusOr<DeviceCheck::Memory> DeviceCheck::RunKernel(const Graph& graph, Candidate unit,
                                                           const Memories& memories) {
  unit.engine = kernels_;
  if (!kernels_->Check(graph, unit, target_)) return Memory();
  ASSIGN_OR_RETURN(const Choice choice, FirstThatCompiles(unit, target_));
  const std::shared_ptr<const Step>& step = choice.compiled.step();
  if (step == nullptr || !StepRunner::RunsInPlace(*step)) return Memory();
  std::vector<Memory> inputs;
  for (const Value* v : BoundaryOf(unit.nodes).inputs) inputs.push_back(memories.at(v));
  ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(unit, step, device_, constants_, inputs));
  RETURN_IF_ERROR(runner->RunInPlace());
  return runner->output(0);
}

absl::StatusOr<DeviceCheck::Memory> DeviceCheck::Reformatted(const Value& value, const Format& from,
                                                             const Format& to,
                                                             const Memory& memory) {
  if (from == to) return memory;
  Graph graph;
  Value& x = graph.AddInput("x", value.type());
  Node& node = graph.AddNode(
      {.op = "Reformat", .inputs = {&x}, .domain = std::string(kOwnDomain), .opset = 1});
  graph.SetType(node.output(0), value.type());
  graph.AddOutput("y", node.output(0));
  return RunKernel(graph,
                   {.nodes = {&node}, .inputs = {{.format = from}}, .outputs = {{.format = to}}},
                   {{&x, memory}});
}

// Whether every |found − expected| is at most slope × |expected| + floor; false for NaN.
absl::StatusOr<bool> DeviceCheck::AreClose(const Value& value, const Memory& found,
                                           Tolerance tolerance) {
  ASSIGN_OR_RETURN(const std::optional<float> largest, LargestOf(value));
  if (!largest.has_value() || !std::isfinite(*largest)) return false;
  ASSIGN_OR_RETURN(const Memory expected, reference_.OnDevice(value));
  const Dims dims = {value.elements()};
  SmallGraph g;
  Value& x = g.Input(value.dtype(), dims);
  Value& y = g.Input(value.dtype(), dims);
  Value& slope = g.Input(DType::kF32, {1});
  Value& floor = g.Input(DType::kF32, {1});
  Memories inputs = {{&x, found}, {&y, expected}};
  ASSIGN_OR_RETURN(inputs[&slope], Upload(static_cast<float>(tolerance.relative)));
  ASSIGN_OR_RETURN(inputs[&floor], Upload(static_cast<float>(tolerance.absolute) * *largest));
  const auto f32 = [&](std::string op, std::vector<Value*> of) -> Value& {
    return g.Add(std::move(op), std::move(of), DType::kF32, dims);
  };
  Value& differs = f32("Abs", {&f32("Sub", {&g.InF32(x), &g.InF32(y)})});
  Value& allowed = f32("Add", {&f32("Mul", {&g.Magnitude(y), &slope}), &floor});
  Value& is_close = g.Add("LessOrEqual", {&differs, &allowed}, DType::kBool, dims);
  ASSIGN_OR_RETURN(const std::optional<float> all,
                   Reduce(g, g.InF32(is_close), inputs, "ReduceMin"));
  return all == 1.0f;
}

// The largest |expected|; nullopt: the Device cannot compute it. NaN may be ignored.
absl::StatusOr<std::optional<float>> DeviceCheck::LargestOf(const Value& value) {
  auto known = largest_.find(&value);
  if (known != largest_.end()) return known->second;
  ASSIGN_OR_RETURN(const Memory memory, reference_.OnDevice(value));
  SmallGraph g;
  Value& y = g.Input(value.dtype(), {value.elements()});
  ASSIGN_OR_RETURN(const std::optional<float> largest,
                   Reduce(g, g.Magnitude(y), {{&y, memory}}, "ReduceMax"));
  largest_[&value] = largest;
  return largest;
}

// The result of the reduction `op` over `value`, f32[n], where all Nodes of `made` are one unit.
absl::StatusOr<std::optional<float>> DeviceCheck::Reduce(SmallGraph& made, Value& value,
                                                         const Memories& inputs, std::string op) {
  ASSIGN_OR_RETURN(const Memory all, RunKernel(made.graph(), made.Whole(value), inputs));
  if (all == nullptr) return std::nullopt;
  SmallGraph g;
  Value& x = g.Input(DType::kF32, value.dims());
  Value& y = g.Add(std::move(op), {&x}, DType::kF32, {1});
  ASSIGN_OR_RETURN(const Memory one, RunKernel(g.graph(), g.Whole(y), {{&x, all}}));
  if (one == nullptr) return std::nullopt;
  ASSIGN_OR_RETURN(const Memory pinned, device_.Allocate(sizeof(float), Space::kHost));
  RETURN_IF_ERROR(Copy(pinned.get(), one.get()));
  float result;
  std::memcpy(&result, pinned.get(), sizeof(result));
  return result;
}

absl::StatusOr<DeviceCheck::Memory> DeviceCheck::Upload(float number) {
  ASSIGN_OR_RETURN(const Memory pinned, device_.Allocate(sizeof(number), Space::kHost));
  ASSIGN_OR_RETURN(Memory memory, device_.Allocate(sizeof(number), Space::kDevice));
  std::memcpy(pinned.get(), &number, sizeof(number));
  RETURN_IF_ERROR(Copy(memory.get(), pinned.get()));
  return memory;
}

// Copies one float.
absl::Status DeviceCheck::Copy(std::byte* to, const std::byte* from) {
  const absl::Status copied = streams_->Copy(0, to, from, sizeof(float));
  const absl::Status done = streams_->Synchronize();
  RETURN_IF_ERROR(copied);
  return done;
}

}  // namespace onnx_cudnn

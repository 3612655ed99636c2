#include "tests/exec/program_maker.h"

#include <utility>

namespace onnx_cudnn {

absl::Status FormulaStep::Launch(const LaunchArgs& args) const {
  float* workspace = static_cast<float*>(args.workspace);
  for (int64_t i = 0; i < kElements; ++i) {
    std::vector<float> in;
    for (const void* p : args.in) in.push_back(static_cast<const float*>(p)[i]);
    for (const void* p : args.constants) in.push_back(static_cast<const float*>(p)[i]);
    workspace[i] = formula_(in);
  }
  for (int64_t i = 0; i < kElements; ++i) static_cast<float*>(args.out[0])[i] = workspace[i];
  return absl::OkStatus();
}

int ProgramMaker::Input() {
  program_->graph.AddInput("x", Type::Tensor(DType::kF32, {kElements}));
  return -static_cast<int>(program_->graph.inputs().size());
}

int ProgramMaker::Add(std::shared_ptr<const Step> step, std::vector<int> in) {
  const Placement placement = {Format::RowMajor({kElements})};
  program_->partitions.push_back({.chosen = {.outputs = {placement}}, .step = std::move(step)});
  reads_.push_back(std::move(in));
  aliases_.push_back(std::nullopt);
  outputs_.push_back(-1);
  program_->steps.push_back({});
  return static_cast<int>(reads_.size()) - 1;
}
int ProgramMaker::Add(Formula formula, std::vector<int> in) {
  return Add(std::make_shared<FormulaStep>(std::move(formula), std::vector<Derived>()), in);
}
int ProgramMaker::AddWithConstant(Formula formula, std::vector<int> in, HostTensor constant) {
  std::vector<Derived> derived = {Unchanged(0, {kElements})};
  const int step = Add(std::make_shared<FormulaStep>(std::move(formula), std::move(derived)), in);
  const auto& made = program_->partitions.back().step;
  program_->steps.back().constants = {{{std::move(constant)}, &made->constants()[0]}};
  return step;
}
int ProgramMaker::AddInPlace(Formula formula, int in) {
  const int step = Add(std::move(formula), {in});
  aliases_.back() = in;
  return step;
}
int ProgramMaker::AddView(int in) {
  class View final : public Step {
    bool launches() const override { return false; }
    absl::Status Launch(const LaunchArgs&) const override { return absl::InternalError("ran"); }
    std::string Save() const override { return ""; }
  };
  const int step = Add(std::make_shared<View>(), {in});
  aliases_.back() = in;
  return step;
}
void ProgramMaker::Output(int step) {
  Graph& graph = program_->graph;
  Node& node = graph.AddNode({.op = "Written"});
  graph.SetType(node.output(0), Type::Tensor(DType::kF32, {kElements}));
  outputs_[step] = static_cast<int>(graph.outputs().size());
  graph.AddOutput("y", node.output(0));
}

std::shared_ptr<Program> ProgramMaker::Make(int streams) && {
  std::vector<std::vector<int>> predecessors;
  for (const std::vector<int>& in : reads_) {
    predecessors.emplace_back();
    for (int v : in) {
      if (v >= 0) predecessors.back().push_back(v);
    }
  }
  program_->schedule = MakeSchedule(predecessors, streams);
  Place(StepOrder(program_->schedule, static_cast<int>(reads_.size())));
  return std::move(program_);
}

// Buffer i is the output of Step i; workspaces follow.
void ProgramMaker::Place(const StepOrder& order) {
  const int steps = static_cast<int>(reads_.size());
  std::vector<Buffer> buffers(2 * steps);
  for (int i = 0; i < steps; ++i) {
    buffers[i] = {.bytes = outputs_[i] < 0 ? kBytes : 0, .writers = {i}};
    if (aliases_[i].has_value()) buffers[i].alias = BufferAlias{*aliases_[i], 0};
    buffers[steps + i] = {.bytes = program_->partitions[i].step->workspace_bytes(), .writers = {i}};
  }
  for (int i = 0; i < steps; ++i) {
    for (int v : reads_[i]) {
      if (v >= 0) buffers[v].readers.push_back(i);
    }
  }
  program_->memory = *PlanMemory(buffers, order, 256);
  for (int i = 0; i < steps; ++i) {
    PlacedStep& placed = program_->steps[i];
    for (int v : reads_[i]) placed.in.push_back(OperandOf(v));
    placed.out = {OperandOf(i)};
    placed.workspace_offset = program_->memory.offsets[steps + i];
  }
}

Operand ProgramMaker::OperandOf(int value) const {
  if (value < 0) return {.kind = Operand::Kind::kInput, .index = -1 - value, .bytes = kBytes};
  if (outputs_[value] >= 0) {
    return {.kind = Operand::Kind::kOutput, .index = outputs_[value], .bytes = kBytes};
  }
  return {.offset = program_->memory.offsets[value], .bytes = kBytes};
}

Formula Times(float factor) {
  return [factor](const std::vector<float>& in) { return in[0] * factor; };
}
float Sum(const std::vector<float>& in) {
  float sum = 0;
  for (float v : in) sum += v;
  return sum;
}

std::shared_ptr<Program> Branches(int streams) {
  ProgramMaker maker;
  const int x = maker.Input();
  const int a = maker.Add(Times(2), {x});
  std::vector<int> ends;
  for (int branch = 0; branch < 4; ++branch) {
    int v = maker.Add(Times(static_cast<float>(branch + 1)), {a});
    for (int depth = 0; depth < branch; ++depth) v = maker.AddInPlace(Times(-1), v);
    v = maker.Add(Times(3), {maker.AddView(v)});
    ends.push_back(v);
  }
  const int total = maker.Add(Sum, ends);
  maker.Output(total);
  maker.Output(maker.Add(Sum, {total, a, ends[0], ends[3]}));
  return std::move(maker).Make(streams);
}

Floats Inputs() {
  Floats x;
  for (int64_t i = 0; i < kElements; ++i) x.push_back(static_cast<float>(i) - 3);
  return x;
}

bool IsRight(const Floats& x, const Floats& total, const Floats& last) {
  for (int64_t i = 0; i < kElements; ++i) {
    const float a = 2 * x[i], sum = 3 * a * (1 - 2 + 3 - 4);
    if (total[i] != sum || last[i] != sum + a + 3 * a - 12 * a) return false;
  }
  return true;
}

}  // namespace onnx_cudnn

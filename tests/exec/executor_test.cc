#include "runtime/exec/executor.h"

#include <cmath>
#include <functional>
#include <optional>

#include "gtest/gtest.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kElements = 16;  // of every f32 Value here
constexpr int64_t kBytes = kElements * 4;
using Floats = std::vector<float>;

// What a Step computes of each element.
using Formula = std::function<float(const std::vector<float>& in)>;

class FormulaStep final : public Step {
 public:
  FormulaStep(Formula formula, std::vector<Derived> constants)
      : formula_(std::move(formula)), constants_(std::move(constants)) {}
  int64_t workspace_bytes() const override { return kBytes; }
  absl::Span<const Derived> constants() const override { return constants_; }
  absl::Status Launch(const LaunchArgs& args) const override {
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
  std::string Save() const override { return ""; }

 private:
  Formula formula_;
  std::vector<Derived> constants_;
};

class FailingStep final : public Step {
 public:
  explicit FailingStep(const bool* fails) : fails_(fails) {}
  absl::Status Launch(const LaunchArgs&) const override {
    return *fails_ ? absl::InvalidArgumentError("node \"n\" (Gather): index 9 is out of range")
                   : absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const bool* fails_;
};

// Makes a Program by hand. A Value is a graph input (-1 - i) or what a Step writes (its number).
class ProgramMaker {
 public:
  int Input() {
    program_->graph.AddInput("x", Type::Tensor(DType::kF32, {kElements}));
    return -static_cast<int>(program_->graph.inputs().size());
  }

  int Add(std::shared_ptr<const Step> step, std::vector<int> in) {
    const Placement placement = {Format::RowMajor({kElements})};
    program_->partitions.push_back({.chosen = {.outputs = {placement}}, .step = std::move(step)});
    reads_.push_back(std::move(in));
    aliases_.push_back(std::nullopt);
    outputs_.push_back(-1);
    program_->steps.push_back({});
    return static_cast<int>(reads_.size()) - 1;
  }
  int Add(Formula formula, std::vector<int> in) {
    return Add(std::make_shared<FormulaStep>(std::move(formula), std::vector<Derived>()), in);
  }
  int AddWithConstant(Formula formula, std::vector<int> in, HostTensor constant) {
    std::vector<Derived> derived = {Unchanged(0, {kElements})};
    const int step = Add(std::make_shared<FormulaStep>(std::move(formula), std::move(derived)), in);
    const auto& made = program_->partitions.back().step;
    program_->steps.back().constants = {{{std::move(constant)}, &made->constants()[0]}};
    return step;
  }
  int AddInPlace(Formula formula, int in) {
    const int step = Add(std::move(formula), {in});
    aliases_.back() = in;
    return step;
  }
  int AddView(int in) {
    class View final : public Step {
      bool launches() const override { return false; }
      absl::Status Launch(const LaunchArgs&) const override { return absl::InternalError("ran"); }
      std::string Save() const override { return ""; }
    };
    const int step = Add(std::make_shared<View>(), {in});
    aliases_.back() = in;
    return step;
  }
  void Output(int step) {
    Graph& graph = program_->graph;
    Node& node = graph.AddNode({.op = "Written"});
    graph.SetType(node.output(0), Type::Tensor(DType::kF32, {kElements}));
    outputs_[step] = static_cast<int>(graph.outputs().size());
    graph.AddOutput("y", node.output(0));
  }

  std::shared_ptr<Program> Make(int streams) && {
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

 private:
  // Buffer i is what Step i writes, the workspaces follow.
  void Place(const StepOrder& order) {
    const int steps = static_cast<int>(reads_.size());
    std::vector<Buffer> buffers(2 * steps);
    for (int i = 0; i < steps; ++i) {
      buffers[i] = {.bytes = outputs_[i] < 0 ? kBytes : 0, .writers = {i}};
      if (aliases_[i].has_value()) buffers[i].alias = BufferAlias{*aliases_[i], 0};
      buffers[steps + i] = {.bytes = program_->partitions[i].step->workspace_bytes(),
                            .writers = {i}};
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

  Operand OperandOf(int value) const {
    if (value < 0) return {.kind = Operand::Kind::kInput, .index = -1 - value, .bytes = kBytes};
    if (outputs_[value] >= 0) {
      return {.kind = Operand::Kind::kOutput, .index = outputs_[value], .bytes = kBytes};
    }
    return {.offset = program_->memory.offsets[value], .bytes = kBytes};
  }

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::vector<std::vector<int>> reads_;
  std::vector<std::optional<int>> aliases_;
  std::vector<int> outputs_;  // by Step: which graph output it writes, -1: none
};

Formula Times(float factor) {
  return [factor](const std::vector<float>& in) { return in[0] * factor; };
}
float Sum(const std::vector<float>& in) {
  float sum = 0;
  for (float v : in) sum += v;
  return sum;
}

// Parallel branches that meet twice, with in-place Steps and a view; the last output is read by a
// Step too.
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

// Branch b of 2x is (b + 1) · (−1)^b · 3 of it.
bool IsRight(const Floats& x, const Floats& total, const Floats& last) {
  for (int64_t i = 0; i < kElements; ++i) {
    const float a = 2 * x[i], sum = 3 * a * (1 - 2 + 3 - 4);
    if (total[i] != sum || last[i] != sum + a + 3 * a - 12 * a) return false;
  }
  return true;
}

bool RunsRight(std::shared_ptr<const Program> program, const CpuDeviceOptions& options) {
  const auto device = MakeCpuDevice(options);
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(std::move(program), *device, constants);
  const Floats x = Inputs();
  bool right = true;
  for (int run = 0; run < 2; ++run) {
    Floats total(kElements), last(kElements);
    const absl::Status status = executor->Run({x.data()}, {total.data(), last.data()});
    EXPECT_TRUE(status.ok()) << status;
    right = right && IsRight(x, total, last);
  }
  return right;
}

TEST(ExecutorTest, RunsInLaunchOrder) {
  EXPECT_TRUE(RunsRight(Branches(1), {}));
  EXPECT_TRUE(RunsRight(Branches(3), {.poison = true}));
}

TEST(ExecutorTest, RunsRightHoweverStreamsInterleave) {
  for (int streams : {1, 2, 4}) {
    const auto program = Branches(streams);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      EXPECT_TRUE(RunsRight(program, {.interleave_seed = seed, .poison = true})) << seed;
    }
  }
}

TEST(ExecutorTest, ReusesItsArena) {
  const auto program = Branches(1);
  const int64_t all = static_cast<int64_t>(program->steps.size()) * 2 * 256;
  EXPECT_LT(program->memory.arena_bytes, all / 2);
}

// Plants a bug: every single wait that is dropped must give a wrong result under some seed.
TEST(ExecutorTest, ADroppedWaitIsCaught) {
  const auto program = Branches(4);
  int dropped = 0;
  for (ScheduledStep& scheduled : program->schedule.steps) {
    if (scheduled.waits.empty()) continue;
    const std::vector<int> waits = std::exchange(scheduled.waits, {});
    bool caught = false;
    for (uint64_t seed = 1; seed <= 60 && !caught; ++seed) {
      caught = !RunsRight(program, {.interleave_seed = seed, .poison = true});
    }
    EXPECT_TRUE(caught) << "without the waits of step " << scheduled.step;
    scheduled.waits = waits;
    ++dropped;
  }
  EXPECT_GT(dropped, 2);
}

// Plants a bug: buffers that live at once share bytes.
TEST(ExecutorTest, AWrongPlanIsCaught) {
  const auto program = Branches(1);
  for (PlacedStep& step : program->steps) {
    for (Operand& operand : step.in) operand.offset = 0;
    for (Operand& operand : step.out) operand.offset = 0;
  }
  EXPECT_FALSE(RunsRight(program, {.poison = true}));
}

TEST(ExecutorTest,
     NothingSurvivesARun) {  // a Step that reads what nobody wrote sees NaN, each time
  ProgramMaker maker;
  const int x = maker.Input();
  maker.Add(Times(1), {x});
  maker.Output(maker.Add(Sum, {0}));
  const auto program = std::move(maker).Make(1);
  program->schedule.steps.erase(program->schedule.steps.begin());
  const auto device = MakeCpuDevice({.poison = true});
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(program, *device, constants);
  const Floats in = Inputs();
  Floats out(kElements);
  ASSERT_TRUE(executor->Run({in.data()}, {out.data()}).ok());
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(ExecutorTest, SharesConstantsBetweenExecutors) {
  const HostTensor weight = HostTensor::Of<float>(DType::kF32, {kElements}, Floats(kElements, 5));
  ProgramMaker maker;
  const int x = maker.Input();
  const int a = maker.AddWithConstant(Sum, {x}, weight);
  maker.Output(maker.AddWithConstant(Sum, {a}, weight));
  const std::shared_ptr<const Program> program = std::move(maker).Make(1);
  const auto device = MakeCpuDevice();
  ConstantStore constants(*device);
  const Floats in = Inputs();
  for (int i = 0; i < 2; ++i) {
    const auto executor = *Executor::Create(program, *device, constants);
    Floats out(kElements);
    ASSERT_TRUE(executor->Run({in.data()}, {out.data()}).ok());
    EXPECT_EQ(out[4], in[4] + 10);
  }
  EXPECT_EQ(constants.made(), 1);
}

TEST(ExecutorTest, AStepsErrorIsReturnedAndTheNextRunIsClean) {
  for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(1)}) {
    bool fails = true;
    ProgramMaker maker;
    const int x = maker.Input();
    maker.Add(std::make_shared<FailingStep>(&fails), {x});
    maker.Output(maker.Add(Times(1), {x}));
    const auto device = MakeCpuDevice({.interleave_seed = seed});
    ConstantStore constants(*device);
    const auto executor = *Executor::Create(std::move(maker).Make(1), *device, constants);
    const Floats in = Inputs();
    Floats out(kElements);
    const absl::Status status = executor->Run({in.data()}, {out.data()});
    EXPECT_EQ(status.message(), "node \"n\" (Gather): index 9 is out of range");
    fails = false;
    EXPECT_TRUE(executor->Run({in.data()}, {out.data()}).ok());
    EXPECT_EQ(out, in);
  }
}

TEST(ExecutorTest, ChecksItsPointers) {
  const auto device = MakeCpuDevice();
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(Branches(1), *device, constants);
  const Floats in = Inputs();
  Floats out(kElements);
  EXPECT_EQ(executor->Run({}, {out.data(), out.data()}).message(),
            "0 inputs were given, the graph has 1");
  EXPECT_EQ(executor->Run({in.data()}, {out.data(), nullptr}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ExecutorTest, RunsAProgramOfNoSteps) {
  auto program = std::make_shared<Program>();
  program->graph.AddInput("x", Type::Tensor(DType::kF32, {0, 3}));
  const auto device = MakeCpuDevice({.interleave_seed = 1, .poison = true});
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(program, *device, constants);
  EXPECT_TRUE(executor->Run({nullptr}, {}).ok());
  EXPECT_EQ(executor->arena_bytes(), 0);
}

// y = Relu(Flatten(Neg(x))) through the Engines, on the real ops.
TEST(ExecutorTest, RunsWhatTheEnginesCompile) {
  const auto host = MakeHostEngine(Space::kDevice), view = MakeViewEngine();
  auto program = std::make_shared<Program>();
  Graph& graph = program->graph;
  Value* value = &graph.AddInput("x", Type::Tensor(DType::kF32, {2, 2, 4}));
  for (const char* op : {"Neg", "Flatten", "Relu"}) {
    Node& node = graph.AddNode({.op = op, .inputs = {value}});
    const bool is_matrix = std::string_view(op) != "Neg";
    graph.SetType(node.output(0),
                  Type::Tensor(DType::kF32, is_matrix ? Dims{2, 8} : Dims{2, 2, 4}));
    value = &node.output(0);
  }
  graph.AddOutput("y", *value);
  for (const Node* node : graph.TopologicalOrder()) {
    const Engine& engine = node->op() == "Flatten" ? *view : *host;
    Candidate candidate = RowMajorCandidate(engine, *node, Space::kDevice, {});
    const auto step = engine.Compile(candidate, {}, {})->step();
    ASSERT_NE(step, nullptr);
    program->partitions.push_back({.chosen = std::move(candidate), .step = step});
  }
  const Operand x = {.kind = Operand::Kind::kInput, .bytes = kBytes};
  const Operand negated = {.bytes = kBytes};
  const Operand y = {.kind = Operand::Kind::kOutput, .bytes = kBytes};
  program->steps = {{.in = {x}, .out = {negated}},
                    {.in = {negated}, .out = {negated}},
                    {.in = {negated}, .out = {y}}};
  program->schedule = MakeSchedule({{}, {0}, {1}}, 1);
  program->memory.arena_bytes = 256;
  const auto device = MakeCpuDevice({.interleave_seed = 1, .poison = true});
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(program, *device, constants);
  const Floats in = Inputs();
  Floats out(kElements);
  ASSERT_TRUE(executor->Run({in.data()}, {out.data()}).ok());
  for (int64_t i = 0; i < kElements; ++i) EXPECT_EQ(out[i], std::max(-in[i], 0.0f));
}

}  // namespace
}  // namespace onnx_cudnn

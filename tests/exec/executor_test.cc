#include "runtime/exec/executor.h"

#include <cmath>

#include "gtest/gtest.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "tests/exec/program_maker.h"
#include "tests/exec/watched_device.h"

namespace onnx_cudnn {
namespace {

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

// Appends the arguments that concern the next launch.
class ToldStep final : public FormulaStep {
 public:
  ToldStep(bool uses_pdl, std::vector<bool>& told)
      : FormulaStep(Sum, {}), uses_pdl_(uses_pdl), told_(told) {}
  bool uses_pdl() const override { return uses_pdl_; }
  absl::Status Launch(const LaunchArgs& args) const override {
    told_.push_back(args.next_uses_pdl);
    return FormulaStep::Launch(args);
  }

 private:
  const bool uses_pdl_;
  std::vector<bool>& told_;
};

// Prefetches an input: reads it before the preceding launch has ended.
class PrefetchStep final : public FormulaStep {
 public:
  explicit PrefetchStep(int prefetched) : FormulaStep(Sum, {}), prefetched_(prefetched) {}
  absl::Span<const int> prefetched_inputs() const override { return {&prefetched_, 1}; }

 private:
  const int prefetched_;
};

// Copies the even or the odd lanes.
class EveryOtherLane final : public Step {
 public:
  explicit EveryOtherLane(int64_t first) : first_(first) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    const auto* in = static_cast<const float*>(args.in[0]);
    auto* out = static_cast<float*>(args.out[0]);
    for (int64_t i = first_; i < kElements; i += 2) out[i] = in[i];
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const int64_t first_;
};

// Runs a Program with one input and one output on Inputs(); returns the output.
Floats RunOnce(std::shared_ptr<const Program> program, Device& device) {
  ConstantStore constants(device);
  const auto executor = *Executor::Create(std::move(program), device, constants);
  const Floats x = Inputs();
  Floats y(kElements);
  const absl::Status status = executor->Run({x.data()}, {y.data()});
  EXPECT_TRUE(status.ok()) << status;
  return y;
}

Notes NotesOf(ProgramMaker maker, int streams) {
  WatchedDevice device;
  RunOnce(std::move(maker).Make(streams), device);
  return device.notes;
}

// What the Steps were told about the next launch, in launch order.
std::vector<bool> Told(ProgramMaker maker, int streams, const std::vector<bool>& told) {
  RunOnce(std::move(maker).Make(streams), *MakeCpuDevice());
  return told;
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

// Plants a bug: with some seed, every single dropped wait must give a wrong result.
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

// Plants a bug: buffers that are live at the same time share bytes.
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
  EXPECT_TRUE(std::isnan(RunOnce(program, *MakeCpuDevice({.poison = true}))[0]));
}

TEST(ExecutorTest, LanesWrittenByOtherStepsAreNotPoisoned) {
  ProgramMaker maker;
  const int x = maker.Input();
  const int even = maker.Add(std::make_shared<EveryOtherLane>(0), {x});
  maker.Add(std::make_shared<EveryOtherLane>(1), {x});
  maker.Output(even);
  const auto program = std::move(maker).Make(1);
  program->steps[1].out = program->steps[0].out;
  for (Partition& p : program->partitions) {
    p.chosen.outputs[0].format = Format::Of({{0, 1, kElements / 2, kElements / 2}, {1, 1, 1, 2}});
  }
  EXPECT_EQ(RunOnce(program, *MakeCpuDevice({.poison = true})), Inputs());
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

TEST(ExecutorTest, AnInternalErrorNamesItsNode) {
  class Broken final : public FormulaStep {
   public:
    Broken() : FormulaStep(Sum, {}) {}
    absl::Status Launch(const LaunchArgs&) const override {
      return absl::InternalError("engine 51 cannot run");
    }
  };
  ProgramMaker maker;
  maker.Output(maker.Add(std::make_shared<Broken>(), {maker.Input()}));
  const auto program = std::move(maker).Make(1);
  Graph& graph = program->graph;
  program->partitions[0].chosen.nodes = {
      &graph.AddNode({.op = "Relu", .inputs = {graph.inputs()[0]}, .name = "r"})};
  const auto device = MakeCpuDevice();
  ConstantStore constants(*device);
  const auto executor = *Executor::Create(program, *device, constants);
  const Floats in = Inputs();
  Floats out(kElements);
  EXPECT_EQ(executor->Run({in.data()}, {out.data()}).message(),
            "node \"r\" (Relu): engine 51 cannot run");
}

TEST(ExecutorTest, TellsALaunchWhetherTheNextOneOfItsStreamUsesPdl) {
  std::vector<bool> told;
  const auto step = [&](bool uses_pdl) { return std::make_shared<ToldStep>(uses_pdl, told); };
  ProgramMaker chain;
  int v = chain.Add(step(true), {chain.Input()});
  v = chain.Add(step(false), {v});
  v = chain.Add(step(true), {chain.AddView(v)});
  v = chain.Add(step(true), {v});
  v = chain.Add(step(false), {v});
  chain.Output(v);
  EXPECT_EQ(Told(std::move(chain), 1, told), std::vector<bool>({false, true, true, false, false}));
}

TEST(ExecutorTest, NoLaunchNextToAnEventIsToldThatTheNextOneUsesPdl) {
  std::vector<bool> told;
  const auto step = [&] { return std::make_shared<ToldStep>(true, told); };
  ProgramMaker fork;
  const int a = fork.Add(step(), {fork.Input()});
  const int b = fork.Add(step(), {a}), c = fork.Add(step(), {a});
  fork.Output(fork.Add(step(), {b, c}));
  EXPECT_EQ(Told(std::move(fork), 2, told), std::vector<bool>(4, false));
}

TEST(ExecutorTest, ABarrierIsBeforePrefetchedInputsThatTheLaunchBeforeWrote) {
  for (const int prefetched : {0, 1}) {
    ProgramMaker chain;
    const int x = chain.Input();
    const int a = chain.Add(Times(2), {x});
    const int b = chain.Add(Times(3), {a});
    chain.Output(chain.Add(std::make_shared<PrefetchStep>(prefetched), {a, chain.AddView(b)}));
    const Notes behind_b = {"launch", "launch", "barrier", "launch"};
    EXPECT_EQ(NotesOf(std::move(chain), 1), prefetched == 1 ? behind_b : Notes(3, "launch"));
  }
}

TEST(ExecutorTest, ABarrierIsBeforePrefetchedInputsOfAStepThatWaitsForAnotherStream) {
  ProgramMaker fork;
  const int x = fork.Input();
  const int a = fork.Add(Times(2), {x}), b = fork.Add(Times(3), {x});
  fork.Output(fork.Add(std::make_shared<PrefetchStep>(0), {a, b}));
  EXPECT_EQ(NotesOf(std::move(fork), 2), (Notes{"launch", "launch", "barrier", "launch"}));
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

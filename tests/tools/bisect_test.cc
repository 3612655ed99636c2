#include "tools/common/bisect.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "passes/build_program.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/status.h"
#include "runtime/exec/compare.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/host_engine.h"
#include "runtime/graph/float16.h"
#include "runtime/ops/evaluate.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

using Tensors = std::vector<HostTensor>;

absl::StatusOr<bool> Differ(const HostTensor& found, const HostTensor& expected) {
  ASSIGN_OR_RETURN(const Difference difference, Compare(found, expected, 1e-4, 1e-6));
  return !difference.ok();
}

// A planted fault: takes away the biases of Gemms.
class DropBias final : public Pass {
 public:
  std::string_view name() const override { return "drop-bias"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext&) override {
    bool changed = false;
    for (Node* node : graph.TopologicalOrder()) {
      if (node->op() != "Gemm" || !node->has_input(2)) continue;
      graph.SetInputs(*node, {&node->input(0), &node->input(1)});
      changed = true;
    }
    return changed;
  }
};

const std::vector<std::string> kPasses = {"eliminate-identity", "fold-constants", "drop-bias",
                                          "cancel-reshapes", "dead-code"};

absl::StatusOr<Tensors> RunWithDropBias(const Graph& graph,
                                        const std::vector<std::string>& disabled,
                                        absl::Span<const HostTensor> inputs) {
  std::vector<std::unique_ptr<Pass>> passes;
  for (const std::string& name : kPasses) {
    if (name == "drop-bias") {
      passes.push_back(std::make_unique<DropBias>());
    } else {
      ASSIGN_OR_RETURN(auto made, MakePasses({name}));
      passes.push_back(std::move(made[0]));
    }
  }
  Graph rewritten = graph.Clone();
  PassContext context;
  PassManagerOptions manager{.disabled = {disabled.begin(), disabled.end()}};
  RETURN_IF_ERROR(RunPasses(rewritten, passes, manager, context).status());
  return Evaluate(rewritten, inputs);
}

// What a faulty partition does instead of its op.
struct PlantedFault {
  std::string op;
  std::function<void(Graph&)> rewrite = nullptr;
  std::function<void(HostTensor&)> round = nullptr;  // each input
};

class FaultyStep final : public Step {
 public:
  FaultyStep(const PlantedFault& fault, const Node& node)
      : fault_(fault), graph_(Extract({{&node}})) {
    if (fault_.rewrite) fault_.rewrite(graph_);
  }
  absl::Status Launch(const LaunchArgs& args) const override {
    Tensors inputs;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Value& v = *graph_.inputs()[i];
      HostTensor& input = inputs.emplace_back(HostTensor::Allocate(v.dtype(), v.dims()));
      std::memcpy(input.mutable_raw(), args.in[i], input.bytes());
      if (fault_.round) fault_.round(input);
    }
    ASSIGN_OR_RETURN(const Tensors outputs, Evaluate(graph_, inputs));
    std::memcpy(args.out[0], outputs[0].raw(), outputs[0].bytes());
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const PlantedFault& fault_;
  Graph graph_;
};

class FaultyEngine final : public Engine {
 public:
  // fault  must outlive it
  explicit FaultyEngine(const PlantedFault& fault) : fault_(fault) {}
  std::string_view name() const override { return "faulty"; }
  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    if (anchor.op() != fault_.op) return;
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
  }
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 1e-3}; }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    return Compiled::As(std::make_shared<FaultyStep>(fault_, *candidate.nodes[0]));
  }

 private:
  const PlantedFault& fault_;
};

// Runs Programs in which an engine with `fault` takes its op.
BisectRequest WithFault(const PlantedFault& fault) {
  BisectRequest request{.differs = Differ};
  request.run = [&fault](const Graph& graph, const std::vector<std::string>&,
                         absl::Span<const HostTensor> inputs) -> absl::StatusOr<Tensors> {
    EngineList engines;
    engines.push_back(std::make_unique<FaultyEngine>(fault));
    engines.push_back(MakeHostEngine(Space::kDevice));
    const OwnedTarget target = TargetOver(std::move(engines), H200());
    ASSIGN_OR_RETURN(const auto program, BuildProgram(graph, {}, target.target, {}));
    const std::unique_ptr<Device> device = MakeCpuDevice({.like_a_gpu = true});
    ConstantStore constants(*device);
    ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, *device, constants));
    return RunOn(*executor, inputs);
  };
  return request;
}

TEST(BisectTest, FindsThePassThatDropsABias) {
  const Graph graph = GraphFromText(R"(
      g (float[2,3] x) => (float[2,3] y)
      <float[3,3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}, float[3] b = {1, 2, 3}> {
        i = Identity(x)
        r = Relu(i)
        m = Gemm(r, w, b)
        t = Tanh(m)
        y = Exp(t) })");
  const BisectRequest request{.run = RunWithDropBias, .differs = Differ, .passes = kPasses};
  const auto found = Bisect(graph, MakeInputs(graph), request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->differs);
  EXPECT_EQ(found->pass, "drop-bias");
  EXPECT_TRUE(found->pass_is_enough);
  EXPECT_EQ(found->nodes, std::vector<std::string>({"Gemm: m"}));
  EXPECT_EQ(found->reduced.node_count(), 1);
  // It shows the fault on its own.
  const auto again = RunWithDropBias(found->reduced, found->disabled, found->inputs);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(*Differ((*again)[0], found->expected[0]));
}

constexpr std::string_view kConvs = R"(
    g (float[1,2,5,5] x, float[2,2,3,3] v, float[2,2,3,3] w) => (float[1,2,5,5] y) {
      a = Relu(x)
      b = Tanh(a)
      c = Conv<pads = [1, 1, 1, 1]>(b, v)
      d = Add(c, b)
      e = Conv<pads = [1, 1, 1, 1]>(d, w)
      y = Neg(e) })";

// The pads of a Conv, all before instead of on both sides.
void ShiftPads(Graph& graph) {
  Node& conv = *graph.TopologicalOrder()[0];
  graph.SetAttr(conv, "pads", std::vector<int64_t>{2, 2, 0, 0});
}

TEST(BisectTest, FindsThePartitionWithWrongPads) {
  const PlantedFault fault{.op = "Conv", .rewrite = ShiftPads};
  const Graph graph = GraphFromText(kConvs);
  BisectRequest request = WithFault(fault);
  request.passes = {"fold-constants", "fold-pad"};
  const auto found = Bisect(graph, MakeInputs(graph), request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->pass, "");
  EXPECT_EQ(found->disabled, request.passes);
  EXPECT_EQ(found->nodes, std::vector<std::string>({"Conv: c"}));
  EXPECT_EQ(found->inputs.size(), 2);
}

TEST(BisectTest, FindsTheKernelThatRoundsTooEarly) {
  const PlantedFault fault{.op = "MatMul", .round = [](HostTensor& input) {
                             for (float& x : input.mutable_data<float>())
                               x = ToFloat(ToBFloat16(x));
                           }};
  std::string text = "g (float[4,4] v0, float[4,4] w) => (float[4,4] y) {\n  v1 = MatMul(v0, w)\n";
  for (int i = 1; i < 40; ++i) {
    absl::StrAppend(&text, "  v", i + 1, " = ", i % 2 == 0 ? "Tanh" : "Sigmoid", "(v", i, ")\n");
  }
  const Graph graph = GraphFromText(absl::StrCat(text, "  z = MatMul(v40, w)\n  y = Neg(z) }"));
  // The first product is of numbers that bf16 holds.
  Tensors inputs = MakeInputs(graph);
  const auto found = Bisect(graph, inputs, WithFault(fault));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->nodes, std::vector<std::string>({"MatMul: z"}));
  EXPECT_LT(found->runs, 20);
}

TEST(BisectTest, RightOutputsEndIt) {
  const PlantedFault none{.op = "None"};
  const Graph graph = GraphFromText(kConvs);
  const auto found = Bisect(graph, MakeInputs(graph), WithFault(none));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->differs);
  EXPECT_EQ(found->runs, 1);
}

TEST(BisectTest, ARunThatFailsSaysNothing) {
  const Graph graph = GraphFromText(kConvs);
  BisectRequest request{.differs = Differ};
  // Wrong only together.
  request.run = [](const Graph& part, const std::vector<std::string>&,
                   absl::Span<const HostTensor> inputs) -> absl::StatusOr<Tensors> {
    std::set<std::string> ops;
    for (const Node* node : part.TopologicalOrder()) ops.insert(node->op());
    if (!ops.contains("Add")) return absl::UnimplementedError("no Add");
    ASSIGN_OR_RETURN(Tensors outputs, Evaluate(part, inputs));
    if (ops.contains("Tanh")) outputs.back().mutable_data<float>()[0] += 1;
    return outputs;
  };
  const auto found = Bisect(graph, MakeInputs(graph), request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->nodes, std::vector<std::string>({"Tanh: b", "Add: d"}));
}

TEST(BisectTest, RandomNumbersAreNoFault) {
  const PlantedFault none{.op = "None"};
  const Graph graph =
      GraphFromText("g (float[4] x) => (float[4] y) { n = RandomNormalLike(x) y = Add(x, n) }");
  const auto found = Bisect(graph, MakeInputs(graph), WithFault(none));
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(found.status().message(), "its numbers are random"))
      << found.status();
}

TEST(BisectTest, ItEndsAtTheDeadline) {
  const PlantedFault fault{.op = "Conv", .rewrite = ShiftPads};
  const Graph graph = GraphFromText(kConvs);
  BisectRequest request = WithFault(fault);
  request.deadline = absl::InfinitePast();
  const auto found = Bisect(graph, MakeInputs(graph), request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->ran_out);
  EXPECT_EQ(found->nodes.size(), 6);
}

}  // namespace
}  // namespace onnx_cudnn

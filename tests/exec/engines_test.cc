// The Engines `host` and `view`.
#include "gtest/gtest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"

namespace onnx_cudnn {
namespace {

class Sink final : public CandidateSink {
 public:
  void Add(Candidate candidate) override { added.push_back(std::move(candidate)); }
  void No(const Engine&, const Node&, std::string reason) override { reasons.push_back(reason); }
  std::vector<Candidate> added;
  std::vector<std::string> reasons;
};

// x → OP → y → Relu → graph output.
struct Made {
  Graph graph;
  Node* node;
};

Made Make(NodeSpec spec, const Dims& from, const Dims& to, DType dtype = DType::kF32) {
  Made made;
  Value& x = made.graph.AddInput("x", Type::Tensor(dtype, from));
  spec.inputs.insert(spec.inputs.begin(), &x);
  made.node = &made.graph.AddNode(std::move(spec));
  made.graph.SetType(made.node->output(0), Type::Tensor(dtype, to));
  Node& relu = made.graph.AddNode({.op = "Relu", .inputs = {&made.node->output(0)}});
  made.graph.SetType(relu.output(0), Type::Tensor(dtype, to));
  made.graph.AddOutput("z", relu.output(0));
  return made;
}

// "" if the Engine supports it, otherwise the reason.
std::string Answer(const Engine& engine, const Made& made) {
  Sink sink;
  engine.Propose(made.graph, *made.node, {}, sink);
  EXPECT_EQ(sink.added.size() + sink.reasons.size(), 1u);
  if (!sink.reasons.empty()) return sink.reasons[0];
  EXPECT_TRUE(static_cast<bool>(engine.Check(made.graph, sink.added[0], {})));
  return "";
}

std::string View(const Made& made) { return Answer(*MakeViewEngine(), made); }

TEST(ViewEngineTest, TakesWhatKeepsItsBytes) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) {
    EXPECT_EQ(View(Make({.op = op}, {2, 3}, {6})), "") << op;
  }
  EXPECT_EQ(View(Make({.op = "Identity"}, {2}, {2})), "");
  EXPECT_EQ(View(Make({.op = "Reshape"}, {0, 3}, {0})), "");
}

TEST(ViewEngineTest, AnswersAnAliasThatRunsNothing) {
  const auto engine = MakeViewEngine();
  const Made made = Make({.op = "Flatten"}, {2, 3}, {6});
  Sink sink;
  engine->Propose(made.graph, *made.node, {}, sink);
  ASSERT_EQ(sink.added.size(), 1u);
  EXPECT_EQ(sink.added[0].cost.us, 0);
  const auto step = engine->Compile(sink.added[0], {}, {})->step();
  EXPECT_FALSE(step->launches());
  ASSERT_EQ(step->aliases().size(), 1u);
  EXPECT_TRUE(step->aliases()[0].required);
}

TEST(ViewEngineTest, TakesOnlyTransposesThatMoveNothing) {
  const auto transpose = [](std::vector<int64_t> perm, const Dims& from, const Dims& to) {
    NodeSpec spec{.op = "Transpose"};
    if (!perm.empty()) spec.attrs.Set("perm", std::move(perm));
    return View(Make(std::move(spec), from, to));
  };
  EXPECT_EQ(transpose({1, 0, 2}, {1, 3, 4}, {3, 1, 4}), "");
  EXPECT_EQ(transpose({0, 2, 1}, {1, 3, 4}, {1, 4, 3}), "it moves bytes");
  EXPECT_EQ(transpose({}, {3, 1}, {1, 3}), "");
  EXPECT_EQ(transpose({}, {3, 2}, {2, 3}), "it moves bytes");
  EXPECT_EQ(transpose({1, 0}, {0, 2}, {2, 0}), "");
}

TEST(ViewEngineTest, TakesDropoutOnlyAtInference) {
  EXPECT_EQ(View(Make({.op = "Dropout"}, {2}, {2})), "");
  for (bool training : {false, true}) {
    Made made = Make({.op = "Dropout"}, {2}, {2});
    const bool values[] = {training};
    Value& mode = made.graph.AddConstant(HostTensor::Of<bool>(DType::kBool, {}, values));
    made.graph.SetInputs(*made.node, {&made.node->input(0), nullptr, &mode});
    EXPECT_EQ(View(made), training ? "it is in training mode" : "");
  }
  Made masked = Make({.op = "Dropout", .outputs = {"y", "mask"}}, {2}, {2});
  masked.graph.SetType(masked.node->output(1), Type::Tensor(DType::kBool, {2}));
  EXPECT_EQ(View(masked), "");
  masked.graph.AddOutput("mask", masked.node->output(1));
  EXPECT_EQ(View(masked), "its mask is used");
}

TEST(ViewEngineTest, RefusesGraphOutputsAndConstants) {
  Made at_output = Make({.op = "Identity"}, {2}, {2});
  at_output.graph.AddOutput("y", at_output.node->output(0));
  EXPECT_EQ(View(at_output), "its output is a graph output");
  Made constant = Make({.op = "Identity"}, {2}, {2}, DType::kI64);
  Value& c = constant.graph.AddConstant(HostTensor::Ints({1, 2}));
  constant.graph.SetInput(*constant.node, 0, &c);
  EXPECT_EQ(View(constant), "its input is a constant");
  EXPECT_EQ(View(Make({.op = "Abs"}, {2}, {2})), "not an op that keeps bytes");
}

Candidate Reformat(const Engine& engine, const Made& made, const Placement& from,
                   const Placement& to) {
  return {.nodes = {made.node}, .engine = &engine, .inputs = {from}, .outputs = {to}};
}

TEST(ViewEngineTest, TakesReformatsBetweenEqualFormats) {
  const auto engine = MakeViewEngine();
  const Dims dims = {1, 3, 2, 2};
  const Made made = Make({.op = "Reformat", .domain = std::string(kOwnDomain)}, dims, dims);
  const Placement last = {Format::ChannelsLast(dims)}, padded = {Format::ChannelsLast(dims, 4)};
  EXPECT_TRUE(engine->Check(made.graph, Reformat(*engine, made, last, last), {}));
  const Support no = engine->Check(made.graph, Reformat(*engine, made, last, padded), {});
  EXPECT_EQ(no.reason(), "its formats differ");
}

TEST(HostEngineTest, TakesEveryNodeWithAReference) {
  const auto engine = MakeHostEngine(Space::kDevice);
  EXPECT_EQ(Answer(*engine, Make({.op = "Abs"}, {2, 3}, {2, 3})), "");
  EXPECT_NE(Answer(*engine, Make({.op = "NoSuchOp"}, {2}, {2})), "");
}

TEST(HostEngineTest, RequiresRowMajorOperandsInItsSpace) {
  const Dims dims = {1, 3, 2, 2};
  const Made made = Make({.op = "Abs"}, dims, dims);
  const auto engine = MakeHostEngine(Space::kHost);
  const Placement host = {Format::RowMajor(dims), Space::kHost};
  const Placement device = {Format::RowMajor(dims), Space::kDevice};
  const Placement last = {Format::ChannelsLast(dims), Space::kHost};
  EXPECT_TRUE(engine->Check(made.graph, Reformat(*engine, made, host, host), {}));
  EXPECT_EQ(engine->Check(made.graph, Reformat(*engine, made, device, host), {}).reason(),
            "x is in the other memory");
  EXPECT_EQ(engine->Check(made.graph, Reformat(*engine, made, last, host), {}).reason(),
            "x is not row-major");
}

TEST(HostEngineTest, ReformatsBetweenAnyPlacementsOnTheCpuDevice) {
  const Dims dims = {1, 3, 2, 2};
  const Made made = Make({.op = "Transfer", .domain = std::string(kOwnDomain)}, dims, dims);
  const Placement device = {Format::RowMajor(dims), Space::kDevice};
  const Placement padded = {Format::ChannelsLast(dims, 4), Space::kHost};
  const auto cpu = MakeHostEngine(Space::kDevice), beside_gpu = MakeHostEngine(Space::kHost);
  const Candidate transfer = Reformat(*cpu, made, device, padded);
  EXPECT_TRUE(cpu->Check(made.graph, transfer, {}));
  EXPECT_NE(cpu->Compile(transfer, {}, {})->step(), nullptr);
  EXPECT_EQ(beside_gpu->Check(made.graph, transfer, {}).reason(), "an operand is on the device");
}

TEST(HostEngineTest, PricesByTheHostBesideAGpu) {
  Target target;
  target.info.bytes_per_us = 1e12;
  target.info.launch_us = 1e6;
  const Made made = Make({.op = "Abs"}, {1000}, {1000});
  const auto engine = MakeHostEngine(Space::kHost);
  EXPECT_LT(RowMajorCandidate(*engine, *made.node, Space::kHost, target).cost.us, 1e5);
}

// 256 MFLOP of matrix products take milliseconds, far more than moving their 2.6 MB.
TEST(HostEngineTest, PricesTheFlopsOfItsReferences) {
  Graph graph;
  const Type square = Type::Tensor(DType::kF32, {400, 400});
  NodeSpec spec{.op = "Einsum", .attrs = {{"equation", std::string("ij,jk,kl->il")}}};
  for (int i = 0; i < 3; ++i) spec.inputs.push_back(&graph.AddInput("x", square));
  Node& einsum = graph.AddNode(std::move(spec));
  graph.SetType(einsum.output(0), square);
  Target h200;
  h200.info.f32_flops_per_us = 51e6;
  h200.info.host_us = 10;
  const auto cpu = MakeHostEngine(Space::kDevice), beside_gpu = MakeHostEngine(Space::kHost);
  const Cost cost = RowMajorCandidate(*cpu, einsum, Space::kDevice, {}).cost;
  EXPECT_EQ(cost.flops, 2 * 2 * 400 * 400 * 400);
  EXPECT_GT(cost.us, 1e3);
  EXPECT_LT(cost.us, 2e4);
  EXPECT_DOUBLE_EQ(RowMajorCandidate(*beside_gpu, einsum, Space::kHost, h200).cost.us,
                   cost.us + 10);
}

// Each iteration of a body calls its references.
TEST(HostEngineTest, PricesCalls) {
  const auto engine = MakeHostEngine(Space::kDevice);
  const auto us = [&](int64_t steps) {
    Graph graph;
    const auto input = [&](const Dims& dims) {
      return &graph.AddInput("x", Type::Tensor(DType::kF32, dims));
    };
    Node& rnn = graph.AddNode({.op = "RNN",
                               .inputs = {input({steps, 1, 2}), input({1, 2, 2}), input({1, 2, 2})},
                               .attrs = {{"hidden_size", int64_t{2}}}});
    graph.SetType(rnn.output(0), Type::Tensor(DType::kF32, {steps, 1, 1, 2}));
    return RowMajorCandidate(*engine, rnn, Space::kDevice, {}).cost.us;
  };
  EXPECT_NEAR(us(2000) / us(1000), 2, 0.1);
}

}  // namespace
}  // namespace onnx_cudnn

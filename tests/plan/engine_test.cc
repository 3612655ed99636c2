#include "runtime/plan/engine.h"

#include "gtest/gtest.h"
#include "runtime/ops/random_draw.h"

namespace onnx_cudnn {
namespace {

class NamedEngine final : public Engine {
 public:
  explicit NamedEngine(std::string version = "1") : version_(std::move(version)) {}
  std::string_view name() const override { return "named"; }
  std::string version() const override { return version_; }
  void Propose(const Graph&, const Node&, const Target&, CandidateSink&) const override {}
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  absl::StatusOr<Compiled> Compile(const Candidate&, const Variant&, const Target&) const override {
    return Compiled::No("only named");
  }

 private:
  std::string version_;
};

const NamedEngine kEngine;

HostTensor Floats(const Dims& dims, float value) {
  std::vector<float> values(ElementsOf(dims), value);
  return HostTensor::Of<float>(DType::kF32, dims, values);
}

Type F32(const Dims& dims) { return Type::Tensor(DType::kF32, dims); }

std::string Sign(const Graph& graph, const Engine& engine = kEngine, const Target& target = {}) {
  Candidate candidate{.engine = &engine};
  for (const Node* node : graph.TopologicalOrder()) candidate.nodes.push_back(node);
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (const Value* v : boundary.inputs) candidate.inputs.push_back({Format::RowMajor(v->dims())});
  for (const Value* v : boundary.outputs)
    candidate.outputs.push_back({Format::RowMajor(v->dims())});
  return Signature(candidate, target);
}

// y = OP(x, constant): the parts that the cases below vary.
struct Spec {
  std::string op = "Mul", domain = "", x = "x", name = "n";
  Dims dims = {2, 3};
  DType dtype = DType::kF32;
  HostTensor constant = Floats({2, 3}, 1);
  Attrs attrs = {};
  int opset = kNewestOpset;
};

Graph Make(const Spec& spec) {
  Graph graph;
  Value& x = graph.AddInput(spec.x, Type::Tensor(spec.dtype, spec.dims));
  Value& c = graph.AddConstant(spec.constant);
  Node& node = graph.AddNode({.op = spec.op,
                              .inputs = {&x, &c},
                              .attrs = spec.attrs,
                              .domain = spec.domain,
                              .name = spec.name,
                              .opset = spec.opset});
  graph.SetType(node.output(0), Type::Tensor(spec.dtype, spec.dims));
  graph.AddOutput("y", node.output(0));
  return graph;
}

std::string Sign(const Spec& spec) { return Sign(Make(spec)); }

TEST(SignatureTest, IsTheSameForOtherNamesAndWeights) {
  EXPECT_EQ(Sign(Spec{}), Sign(Spec{.x = "other", .name = "m"}));
  EXPECT_EQ(Sign(Spec{}), Sign(Spec{.constant = Floats({2, 3}, 5)}));
}

TEST(SignatureTest, DiffersByWhatANodeIs) {
  const std::string base = Sign(Spec{});
  EXPECT_NE(base, Sign(Spec{.op = "Add"}));
  EXPECT_NE(base, Sign(Spec{.domain = "other"}));
  EXPECT_NE(base, Sign(Spec{.opset = 13}));
  EXPECT_NE(base, Sign(Spec{.dims = {3, 2}}));
  EXPECT_NE(base, Sign(Spec{.dtype = DType::kF64}));
  EXPECT_NE(base, Sign(Spec{.constant = Floats({3}, 1)}));
}

TEST(SignatureTest, ScalarsAndIntegersStandByValue) {
  EXPECT_NE(Sign(Spec{.constant = Floats({}, 1)}), Sign(Spec{.constant = Floats({}, 2)}));
  EXPECT_NE(Sign(Spec{.constant = Floats({1, 1}, 1)}), Sign(Spec{.constant = Floats({1, 1}, 2)}));
  EXPECT_NE(Sign(Spec{.constant = HostTensor::Ints({2, 3})}),
            Sign(Spec{.constant = HostTensor::Ints({3, 2})}));
}

TEST(SignatureTest, QuantizedWeightsStandByType) {
  auto weights = [](uint8_t value) {
    return HostTensor::Of<uint8_t>(DType::kU8, {2}, std::vector<uint8_t>(2, value));
  };
  EXPECT_EQ(Sign(Spec{.constant = weights(1)}), Sign(Spec{.constant = weights(2)}));
}

TEST(SignatureTest, DiffersByAttributes) {
  const auto with = [](Attribute a) { return Sign(Spec{.attrs = {{"a", std::move(a)}}}); };
  EXPECT_NE(with(int64_t{1}), with(int64_t{2}));
  EXPECT_NE(with(int64_t{1}), with(1.0f));
  EXPECT_NE(with(0.1f), with(0.1f + 1e-8f));
  EXPECT_NE(with(std::vector<int64_t>{1, 23}), with(std::vector<int64_t>{12, 3}));
  EXPECT_NE(with(std::string("a")), with(std::string("b")));
  EXPECT_NE(with(Floats({3}, 1)), with(Floats({3}, 2)));
  EXPECT_NE(with(int64_t{1}), Sign(Spec{.attrs = {{"b", int64_t{1}}}}));
}

// Loads of one model have different streams of random numbers, and share a plan cache.
TEST(SignatureTest, IsTheSameForOtherRandomStreams) {
  const auto sign = [](int nodes, int node) {
    Graph graph;
    for (int i = 0; i < nodes; ++i) {
      Node& random = graph.AddNode(
          {.op = "RandomNormal", .attrs = {{"shape", std::vector<int64_t>{2}}, {"seed", 1.0F}}});
      graph.SetType(random.output(0), F32({2}));
      graph.AddOutput("y", random.output(0));
    }
    const RandomStreams streams(graph);
    return Sign(Extract({graph.node(node)}));
  };
  EXPECT_EQ(sign(1, 0), sign(1, 0));
  EXPECT_NE(sign(2, 0), sign(2, 1));
}

TEST(SignatureTest, DiffersByTarget) {
  const Graph graph = Make({});
  const std::string base = Sign(graph);
  Target tf32, nondeterminism, bytes, device;
  tf32.numerics.tf32 = true;
  nondeterminism.numerics.nondeterminism = true;
  bytes.max_bytes = 1;
  device.info.name = "h200";
  for (const Target& target : {tf32, nondeterminism, bytes, device}) {
    EXPECT_NE(base, Sign(graph, kEngine, target));
  }
  EXPECT_NE(base, Sign(graph, NamedEngine("2")));
}

TEST(SignatureTest, DiffersByPlacement) {
  Graph graph = Make({.dims = {1, 3, 2, 2}});
  Candidate candidate =
      RowMajorCandidate(kEngine, *graph.TopologicalOrder()[0], Space::kDevice, {});
  const std::string base = Signature(candidate, {});
  Candidate other = candidate;
  other.outputs[0].format = Format::ChannelsLast({1, 3, 2, 2});
  EXPECT_NE(base, Signature(other, {}));
  other = candidate;
  other.inputs[0].space = Space::kHost;
  EXPECT_NE(base, Signature(other, {}));
}

// z = OP(a, b); a and b are inputs x or y, or absent.
std::string SignBinary(bool swapped, bool same, bool absent) {
  Graph graph;
  Value& x = graph.AddInput("x", F32({2}));
  Value& y = graph.AddInput("y", F32({2}));
  Node& relu = graph.AddNode({.op = "Add", .inputs = {&x, &y}});
  graph.SetType(relu.output(0), F32({2}));
  std::vector<Value*> inputs = {&x, same ? &x : &y, &relu.output(0)};
  if (swapped) std::swap(inputs[0], inputs[1]);
  if (absent) inputs[1] = nullptr;
  Node& node = graph.AddNode({.op = "Clip", .inputs = inputs});
  graph.SetType(node.output(0), F32({2}));
  graph.AddOutput("z", node.output(0));
  return Sign(graph);
}

TEST(SignatureTest, ContainsWhichInputFeedsWhichOperand) {
  const std::string base = SignBinary(false, false, false);
  EXPECT_NE(base, SignBinary(true, false, false));
  EXPECT_NE(base, SignBinary(false, true, false));
  EXPECT_NE(base, SignBinary(false, false, true));
  EXPECT_EQ(base, SignBinary(false, false, false));
}

TEST(SignatureTest, ContainsWhichValuesAreOutputs) {
  Graph graph = Make({});
  Node& mul = *graph.TopologicalOrder()[0];
  Node& relu = graph.AddNode({.op = "Relu", .inputs = {&mul.output(0)}});
  graph.SetType(relu.output(0), F32({2, 3}));
  graph.AddOutput("z", relu.output(0));
  const std::string both = Sign(graph);
  graph.SetOutput(0, relu.output(0));
  EXPECT_NE(both, Sign(graph));
}

std::string SignBody(const std::string& op, const std::string& value_name) {
  auto body = std::make_unique<Graph>();
  Value& in = body->AddInput(value_name, F32({2}));
  Node& node = body->AddNode({.op = op, .inputs = {&in}, .outputs = {value_name + "_out"}});
  body->SetType(node.output(0), F32({2}));
  body->AddOutput("out", node.output(0));
  Graph graph;
  Value& x = graph.AddInput("x", F32({2}));
  NodeSpec spec{.op = "If", .inputs = {&x}};
  spec.bodies["then_branch"] = std::move(body);
  Node& owner = graph.AddNode(std::move(spec));
  graph.SetType(owner.output(0), F32({2}));
  graph.AddOutput("y", owner.output(0));
  return Sign(graph);
}

TEST(SignatureTest, HoldsBodiesWithoutTheirNames) {
  EXPECT_EQ(SignBody("Relu", "a"), SignBody("Relu", "b"));
  EXPECT_NE(SignBody("Relu", "a"), SignBody("Abs", "a"));
}

TEST(FormatChoicesTest, OffersChannelsLastWithPaddedChannels) {
  Target gpu;
  gpu.info.compute_capability = 90;
  Graph graph;
  const Value& three = graph.AddInput("x", F32({1, 3, 8, 8}));
  EXPECT_EQ(FormatChoices(three, gpu).size(), 3u);  // row-major, channels-last, padded to 4
  const Type halves = Type::Tensor(DType::kF16, {1, 3, 8, 8});
  EXPECT_EQ(FormatChoices(graph.AddInput("x", halves), gpu).size(), 4u);  // and to 8
  EXPECT_EQ(FormatChoices(three, gpu)[0], Format::RowMajor({1, 3, 8, 8}));
  EXPECT_EQ(FormatChoices(graph.AddInput("x", F32({1, 8, 8, 8})), gpu).size(), 2u);
  EXPECT_EQ(FormatChoices(graph.AddInput("x", F32({3, 8})), gpu).size(), 1u);
  const Type integers = Type::Tensor(DType::kI64, {1, 3, 8, 8});
  EXPECT_EQ(FormatChoices(graph.AddInput("x", integers), gpu).size(), 2u);
  const Type nibbles = Type::Tensor(DType::kU4, {1, 3, 8, 8});
  EXPECT_EQ(FormatChoices(graph.AddInput("x", nibbles), gpu).size(), 1u);
  EXPECT_EQ(FormatChoices(three, {}).size(), 1u);  // the host's
}

TEST(ChannelMultiplesTest, AreThoseThatGiveOtherExtents) {
  using Multiples = std::vector<int64_t>;
  EXPECT_EQ(ChannelMultiples(3, DType::kF16), Multiples({1, 4, 8}));
  EXPECT_EQ(ChannelMultiples(3, DType::kF32), Multiples({1, 4}));
  EXPECT_EQ(ChannelMultiples(6, DType::kF16), Multiples({1, 4}));
  EXPECT_EQ(ChannelMultiples(12, DType::kF16), Multiples({1, 8}));
  EXPECT_EQ(ChannelMultiples(16, DType::kF16), Multiples({1}));
  EXPECT_EQ(ChannelMultiples(3, DType::kI8), Multiples({1}));
}

TEST(RooflineTest, CountsBytesOfFormatsAndConstants) {
  const Graph graph = Make({.dims = {1, 3, 2, 2}, .constant = Floats({3, 1, 1}, 1)});
  Target target;
  target.info.bytes_per_us = 4;
  target.info.launch_us = 2;
  Candidate candidate =
      RowMajorCandidate(kEngine, *graph.TopologicalOrder()[0], Space::kDevice, target);
  EXPECT_EQ(candidate.cost.bytes, 48 + 48 + 12);
  EXPECT_DOUBLE_EQ(candidate.cost.us, 108 / 4.0 + 2);
  candidate.outputs[0].format = Format::ChannelsLast({1, 3, 2, 2}, 4);
  EXPECT_EQ(Roofline(candidate, target).bytes, 48 + 64 + 12);
}

TEST(RooflineTest, CountsTheRowsThatAGatherTakes) {
  Graph graph;
  Value& ids = graph.AddInput("ids", Type::Tensor(DType::kI64, {3}));
  Value& table = graph.AddConstant(Floats({100, 4}, 1));
  Node& gather = graph.AddNode({.op = "Gather", .inputs = {&table, &ids}});
  graph.SetType(gather.output(0), F32({3, 4}));
  graph.AddOutput("y", gather.output(0));
  Target target;
  target.info.bytes_per_us = 4;
  const Candidate candidate = RowMajorCandidate(kEngine, gather, Space::kDevice, target);
  EXPECT_EQ(candidate.cost.bytes, 3 * 8 + 48 + 48);
}

TEST(RooflineTest, GrowsWithWhatAnImplementationDoesNotReach) {
  const Graph graph = Make({.dims = {1, 3, 2, 2}, .constant = Floats({3, 1, 1}, 1)});
  Target target;
  target.info.bytes_per_us = 4;
  target.info.launch_us = 2;
  const Candidate candidate =
      RowMajorCandidate(kEngine, *graph.TopologicalOrder()[0], Space::kDevice, target);
  EXPECT_DOUBLE_EQ(Roofline(candidate, target, {.traffic = 0.5, .fixed_us = 3}).us,
                   2 * 108 / 4.0 + 2 + 3);
  target.info.f32_flops_per_us = 0.1;  // 12 products
  EXPECT_DOUBLE_EQ(Roofline(candidate, target, {.arithmetic = 0.25}).us, 4 * 12 / 0.1 + 2);
}

TEST(EngineTest, HasOneVariantAndSavesNothingByDefault) {
  EXPECT_EQ(kEngine.Variants({}, {})->size(), 1u);
  EXPECT_EQ(kEngine.Load("", {}, {}).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/plan/reference_step.h"

#include <numeric>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

Type F32(const Dims& dims) { return Type::Tensor(DType::kF32, dims); }

Node& Add(Graph& graph, NodeSpec spec, const Dims& dims) {
  Node& node = graph.AddNode(std::move(spec));
  graph.SetType(node.output(0), F32(dims));
  return node;
}

std::vector<float> Counting(int64_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), -2.0f);
  return values;
}

// All Nodes of a Graph as one Candidate.
Candidate Whole(const Graph& graph) {
  Candidate candidate;
  for (const Node* node : graph.TopologicalOrder()) candidate.nodes.push_back(node);
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (const Value* v : boundary.inputs) candidate.inputs.push_back({Format::RowMajor(v->dims())});
  for (const Value* v : boundary.outputs)
    candidate.outputs.push_back({Format::RowMajor(v->dims())});
  return candidate;
}

std::shared_ptr<const Step> CompileOrDie(const Candidate& candidate) {
  absl::StatusOr<Compiled> compiled = CompileReference(candidate);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_NE(compiled->step(), nullptr) << compiled->reason();
  return compiled->step();
}

// Runs a Step of f32 operands.
std::vector<float> RunStep(const Step& step, const std::vector<std::vector<float>>& in,
                           const std::vector<std::vector<float>>& constants, int64_t lanes) {
  std::vector<const void*> in_pointers, constant_pointers;
  for (const auto& v : in) in_pointers.push_back(v.data());
  for (const auto& v : constants) constant_pointers.push_back(v.data());
  std::vector<float> out(lanes, 99);
  std::vector<void*> out_pointers = {out.data()};
  HostTensor workspace = HostTensor::Allocate(DType::kU8, {step.workspace_bytes()});
  const absl::Status status = step.Launch({.in = in_pointers,
                                           .out = out_pointers,
                                           .constants = constant_pointers,
                                           .workspace = workspace.mutable_raw(),
                                           .stream = {}});
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

// y = Sub(c, x) with a constant of the same dims.
Graph Subtract(const Dims& dims) {
  Graph graph;
  Value& x = graph.AddInput("x", F32(dims));
  const std::vector<float> ones(ElementsOf(dims), 1.0f);
  Value& c = graph.AddConstant(HostTensor::Of<float>(DType::kF32, dims, ones));
  graph.AddOutput("y", Add(graph, {.op = "Sub", .inputs = {&c, &x}}, dims).output(0));
  return graph;
}

TEST(ReferenceStepTest, RunsOneNodeInItsOperands) {
  const Graph graph = Subtract({3});
  const auto step = CompileOrDie(Whole(graph));
  EXPECT_EQ(step->workspace_bytes(), 0);
  ASSERT_EQ(step->constants().size(), 1u);
  EXPECT_EQ(step->constants()[0].from, (std::vector<int>{0}));
  EXPECT_EQ(step->constants()[0].recipe, "");
  EXPECT_EQ(RunStep(*step, {{1, 2, 3}}, {{10, 20, 30}}, 3), (std::vector<float>{9, 18, 27}));
}

TEST(ReferenceStepTest, OffersInPlaceForInputsOfEqualShape) {
  const Graph graph = Subtract({3});
  const auto step = CompileOrDie(Whole(graph));
  ASSERT_EQ(step->aliases().size(), 1u);
  EXPECT_EQ(step->aliases()[0].input, 0);
  EXPECT_FALSE(step->aliases()[0].required);
}

TEST(ReferenceStepTest, OutlivesTheGraph) {
  std::shared_ptr<const Step> step;
  {
    const Graph graph = Subtract({2});
    step = CompileOrDie(Whole(graph));
  }
  EXPECT_EQ(RunStep(*step, {{1, 2}}, {{0, 0}}, 2), (std::vector<float>{-1, -2}));
}

TEST(ReferenceStepTest, UnpacksAndPacksByFormat) {
  const Dims dims = {1, 3, 2, 2};
  const Graph graph = Subtract(dims);
  Candidate candidate = Whole(graph);
  const std::vector<float> x = Counting(12), c(12, 1.0f);
  const std::vector<float> direct = RunStep(*CompileOrDie(candidate), {x}, {c}, 12);

  const Format padded = Format::ChannelsLast(dims, 4), last = Format::ChannelsLast(dims);
  candidate.inputs[0].format = padded;
  candidate.outputs[0].format = last;
  std::vector<float> packed_x(padded.lanes());
  Pack(DType::kF32, dims, x.data(), padded, packed_x.data());
  const auto step = CompileOrDie(candidate);
  EXPECT_TRUE(step->aliases().empty());
  const std::vector<float> lanes = RunStep(*step, {packed_x}, {c}, last.lanes());
  std::vector<float> y(12);
  Unpack(DType::kF32, dims, lanes.data(), last, y.data());
  EXPECT_EQ(y, direct);
}

TEST(ReferenceStepTest, RunsSeveralNodesThroughItsWorkspace) {  // y = Relu(x) + Neg(Relu(x)) · x
  Graph graph;
  Value& x = graph.AddInput("x", F32({4}));
  Value& relu = Add(graph, {.op = "Relu", .inputs = {&x}}, {4}).output(0);
  Value& neg = Add(graph, {.op = "Neg", .inputs = {&relu}}, {4}).output(0);
  Value& mul = Add(graph, {.op = "Mul", .inputs = {&neg, &x}}, {4}).output(0);
  graph.AddOutput("y", Add(graph, {.op = "Add", .inputs = {&relu, &mul}}, {4}).output(0));
  const auto step = CompileOrDie(Whole(graph));
  EXPECT_EQ(RunStep(*step, {{-1, 1, 2, 3}}, {}, 4), (std::vector<float>{0, 0, -2, -6}));
}

TEST(ReferenceStepTest, ReformatsBetweenFormats) {
  const Dims dims = {1, 2, 1, 2};
  Graph graph;
  Value& x = graph.AddInput("x", F32(dims));
  NodeSpec spec{.op = "Reformat", .inputs = {&x}, .domain = std::string(kOwnDomain)};
  graph.AddOutput("y", Add(graph, std::move(spec), dims).output(0));
  Candidate candidate = Whole(graph);
  candidate.outputs[0].format = Format::ChannelsLast(dims, 4);
  EXPECT_EQ(RunStep(*CompileOrDie(candidate), {{1, 2, 3, 4}}, {}, 8),
            (std::vector<float>{1, 3, 0, 0, 2, 4, 0, 0}));
}

TEST(ReferenceStepTest, RefusesWhatHasNoReference) {
  Graph graph;
  Value& x = graph.AddInput("x", F32({2}));
  graph.AddOutput("y", Add(graph, {.op = "NoSuchOp", .inputs = {&x}, .name = "n"}, {2}).output(0));
  const absl::StatusOr<Compiled> compiled = CompileReference(Whole(graph));
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(compiled->step(), nullptr);
  EXPECT_NE(compiled->reason().find("node \"n\" (NoSuchOp)"), std::string::npos)
      << compiled->reason();
}

}  // namespace
}  // namespace onnx_cudnn

// Programs partitioned for h200 and run by the CPU device, where references emulate the Nodes.
#include "passes/partition/partitioners.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"
#include "tests/support/networks.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

// The Target's Engines except libraries: `view`, `kernel`, `host`.
class KernelProgramsTest : public KernelsTest {
 protected:
  KernelProgramsTest() {
    for (const Engine* engine : target_.engines) {
      if (engine->name() == "cudnn" || engine->name() == "gemm") continue;
      own_.engines.push_back(engine);
    }
    own_.info = target_.info;
  }

  // Runs it under both partitioners and returns greedy's Partitions.
  std::string Run(const Graph& graph) const {
    EXPECT_NE(ExpectRunsLikeEvaluate(graph, {}, own_, CostSearch), nullptr);
    const auto program = ExpectRunsLikeEvaluate(graph, {}, own_, Greedy);
    return program == nullptr ? "" : Partitions(*program);
  }

  Target own_;
};

TEST_F(KernelProgramsTest, ConvolutionNetworksStayChannelsLast) {
  const std::string partitions = Run(GraphFromText(R"(
      g (float[2,4,8,8] x) => (float[2,3] y)
        <float[4,4,1,1] w = {1,0,0,1, 0,1,0,0, 2,0,1,0, 0,0,0,1}, float[4,3] f = {1,2,3, 4,5,6, 7,8,9, 1,2,3}, float[3] b = {1,2,3}>
      { a = Conv(x, w)
        c = Relu(a)
        d = MaxPool<kernel_shape = [2,2], strides = [2,2]>(c)
        e = Conv(d, w)
        s = Add(e, d)
        r = Relu(s)
        p = GlobalAveragePool(r)
        q = Flatten(p)
        y = Gemm(q, f, b) })"));
  EXPECT_EQ(partitions.find("host"), std::string::npos) << partitions;
  EXPECT_NE(partitions.find("kernel {Add Relu}"), std::string::npos) << partitions;
  EXPECT_EQ(partitions.find("Reformat", partitions.find("Reformat") + 1), std::string::npos)
      << partitions;
}

TEST_F(KernelProgramsTest, HalvesRunThroughTensorCoreKernels) {
  Graph graph;
  const Type type = Type::Tensor(DType::kF32, {1, 3, 32, 224});
  Value* v = &Append(graph, "Cast", {&graph.AddInput("x", type)}, {{"to", int64_t{10}}});
  const std::vector<int64_t> two = {2, 2}, one = {1, 1, 1, 1}, three = {3, 3, 3, 3};
  Value& w = Weights(graph, DType::kF16, {64, 3, 7, 7});
  v = &Append(graph, "Conv", {v, &w}, {{"strides", two}, {"pads", three}});
  v = &Append(graph, "Relu", {v});
  v = &Append(graph, "MaxPool", {v},
              {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"strides", two}, {"pads", one}});
  Value& k = Weights(graph, DType::kF16, {64, 64, 3, 3});
  Value& sum = Append(graph, "Add", {&Append(graph, "Conv", {v, &k}, {{"pads", one}}), v});
  v = &Append(graph, "Cast", {&Append(graph, "Relu", {&sum})}, {{"to", int64_t{1}}});
  graph.AddOutput("y", *v);
  const std::string partitions = Run(graph);
  EXPECT_NE(partitions.find("{Cast Conv Relu MaxPool}"), std::string::npos) << partitions;
  EXPECT_NE(partitions.find("{Conv Add Relu"), std::string::npos) << partitions;
}

TEST_F(KernelProgramsTest, PaddedChannelsRun) {  // three and five channels, with a gate
  const std::string partitions = Run(GraphFromText(R"(
      g (float[1,3,4,4] x, float[1,5,4,4] z) => (float[1,8,4,4] y, float[1,1,4,4] m)
        <float[8,1,1] s = {1,2,3,4,5,6,7,8}, int64[1] axes = {1}>
      { a = Concat<axis = 1>(x, z)
        g = GlobalAveragePool(a)
        h = Sigmoid(g)
        b = Mul(a, h)
        y = Mul(b, s)
        m = ReduceMean(y, axes) })"));
  EXPECT_EQ(partitions.find("host"), std::string::npos) << partitions;
}

TEST_F(KernelProgramsTest, HostNodesAreReachedByTransfers) {  // packed integers stay on the host
  Target target = own_;
  const auto program = ExpectRunsLikeEvaluate(GraphFromText(R"(
      g (float[2,2] x, int4[4] q) => (float[2,2] y, int4[2,2] p) <int64[2] d = {2,2}>
      { y = Neg(x)
        p = Reshape(q, d) })"),
                                              {}, target);
  ASSERT_NE(program, nullptr);
  EXPECT_NE(Partitions(*program).find("host {Reshape}"), std::string::npos) << Partitions(*program);
}

TEST_F(KernelProgramsTest, WholeNetworksRunWithoutTheHost) {
  const NetworkSize small = {.image = 96, .channel_share = 8};
  for (const Graph& graph : {ResNet18(small), Inception(small), UNet(small)}) {
    const auto program = BuildProgram(graph, {}, own_, {});
    ASSERT_TRUE(program.ok()) << program.status();
    const std::string partitions = Partitions(**program);
    EXPECT_EQ(partitions.find("host"), std::string::npos) << partitions;
  }
}

}  // namespace
}  // namespace onnx_cudnn

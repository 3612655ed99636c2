// Networks partitioned for h200 by the libraries' Engines, and run by the CPU device.
#include <algorithm>

#include "passes/partition/partitioners.h"
#include "tests/support/networks.h"
#include "tests/support/proposed.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

class LibraryProgramsTest : public EngineTest {
 protected:
  LibraryProgramsTest() : EngineTest("cudnn") {
    libraries_.info = target_.info;
    for (const Engine* engine : target_.engines) {
      if (engine->name() != "kernel") libraries_.engines.push_back(engine);
    }
  }

  void ExpectRuns(const Graph& graph) const {
    EXPECT_NE(ExpectRunsLikeEvaluate(graph, {}, target_, Greedy), nullptr);
    EXPECT_NE(ExpectRunsLikeEvaluate(graph, {}, target_, CostSearch), nullptr);
  }

  // Without our kernels: their Reformats are only needed by a whole Program.
  std::vector<Candidate> Cover(const Graph& graph, Partitioner partitioner) const {
    absl::StatusOr<std::vector<Partition>> partitions =
        PartitionGraph(graph, libraries_, partitioner, nullptr);
    EXPECT_TRUE(partitions.ok()) << partitions.status();
    std::vector<Candidate> cover;
    if (!partitions.ok()) return cover;
    for (Partition& p : *partitions) cover.push_back(std::move(p.chosen));
    return cover;
  }

  Target libraries_;
};

Graph HalfResNet() { return InHalves(ResNet18()); }

bool Holds(const Candidate& candidate, std::string_view op) {
  return std::any_of(candidate.nodes.begin(), candidate.nodes.end(),
                     [&](const Node* node) { return node->op() == op; });
}

TEST_F(LibraryProgramsTest, ConvolutionsOfAResNetTakeTheirBiasResidualAndRelu) {
  for (const bool halves : {false, true}) {
    const Graph graph = halves ? InHalves(ResNet50()) : ResNet50();
    for (const Partitioner partitioner : {Greedy, CostSearch}) {
      int convolutions = 0;
      for (const Candidate& c : Cover(graph, partitioner)) {
        convolutions += Holds(c, "Conv");
        EXPECT_TRUE(Holds(c, "Conv") || !(Holds(c, "Add") || Holds(c, "Relu"))) << Describe(c);
      }
      EXPECT_EQ(convolutions, 53);
    }
  }
}

TEST_F(LibraryProgramsTest, ProposalsForNetworksPassTheirCheck) {
  for (const auto make : {HalfResNet, +[] { return Inception(); }, +[] { return NasNet(); },
                          +[] { return Transformer(); }}) {
    const Graph graph = make();
    int proposals = 0;
    for (const Node* node : graph.TopologicalOrder()) {
      proposals += static_cast<int>(At(graph, *node).candidates.size());
    }
    EXPECT_GT(proposals, graph.node_count());
  }
}

TEST_F(LibraryProgramsTest, AStemOfHalvesIsPaddedToFour) {
  const Graph graph = InHalves(ResNet18({.batch = 64}));
  for (const Candidate& c : Cover(graph, CostSearch)) {
    if (!Holds(c, "Conv") || BoundaryOf(c.nodes).inputs[0] != graph.inputs()[0]) continue;
    EXPECT_EQ(Describe(c), "{Conv Relu} last4 > last");
  }
}

TEST_F(LibraryProgramsTest, ConvolutionsRunAsTheirNodes) {
  ExpectRuns(GraphWithWeights(R"(
      g (float[2,3,8,8] x, float[6,3,3,3] w0, float[6] wb, float[8,6,1,1] w1, float[8,8,3,3] w2,
         float[8,6,1,1] w3, float[8,4,2,2] w4) => (y, s)
      { a = Conv<pads = [1,1,1,1]>(x, w0, wb)
        b = Relu(a)
        c = Conv(b, w1)
        d = Relu(c)
        e = Conv<pads = [1,1,1,1]>(d, w2)
        f = Conv(b, w3)
        s = Add(e, f)
        r = Relu(s)
        p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(r)
        q = Sigmoid(p)
        y = ConvTranspose<strides = [2,2]>(q, w4) })"));
}

TEST_F(LibraryProgramsTest, HalvesRunAsTheirNodes) {
  ExpectRuns(GraphWithWeights(R"(
      g (float[2,3,8,8] i, float16[8,3,3,3] w0, float16[8,8,1,1] w1) => (y)
      { x = Cast<to = 10>(i)
        a = Conv<pads = [1,1,1,1]>(x, w0)
        b = Relu(a)
        c = Conv(b, w1)
        d = Add(c, b)
        y = Cast<to = 1>(d) })"));
}

TEST_F(LibraryProgramsTest, ProductsRunAsTheirNodes) {
  ExpectRuns(GraphWithWeights(R"(
      g (float[2,4,8] x, float[8] ws, float[8,8] wq, float[8,8] wk, float[8] wb) => (y)
      { n = LayerNormalization(x, ws)
        q = MatMul(n, wq)
        k = MatMul(n, wk)
        t = Transpose<perm = [0,2,1]>(k)
        c = Constant<value = float {0.5}>()
        a = MatMul(q, t)
        b = Mul(a, c)
        p = Softmax(b)
        o = MatMul(p, n)
        u = Add(o, wb)
        g = Gelu<approximate = "tanh">(u)
        z = Add(g, x)
        y = ReduceMean(z) })"));
}

}  // namespace
}  // namespace onnx_cudnn

// Concats of channels without a launch: kernels write and read parts of one tensor. Partitioned for
// h200, run by the CPU device, where references emulate the Nodes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "passes/partition/partitioners.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

// Two layers of a dense block, whose first input `first` computes. `read` makes z.
std::string DenseBlock(const std::string& first,
                       const std::string& read = "z = GlobalAveragePool(e)") {
  return absl::StrCat(R"(
      g (float[1,16,8,8] x, float16[16,1,1] wa, float16[16,1,1] wb, float16[32,16,1,1] wc,
         float16[8,32,3,3] wd, float16[24,1,1] we, float16[24,1,1] wf, float16[32,24,1,1] wg,
         float16[8,32,3,3] wh) => (y, z)
      { o = Cast<to = 10>(x)
        p = )",
                      first, R"((o)
        a = Mul(p, wa) b = Add(a, wb) c = Relu(b) d = Conv(c, wc) e = Relu(d)
        f = Conv<pads = [1,1,1,1]>(e, wd)
        t = Concat<axis = 1>(p, f)
        h = Mul(t, we) i = Add(h, wf) j = Relu(i) k = Conv(j, wg) l = Relu(k)
        m = Conv<pads = [1,1,1,1]>(l, wh)
        u = Concat<axis = 1>(t, m)
        y = GlobalAveragePool(u)
        )",
                      read, " }");
}

constexpr const char* kMaxPool = "MaxPool<kernel_shape = [2,2], strides = [2,2]>";

class InterleavedProgramsTest : public KernelsTest {
 protected:
  InterleavedProgramsTest() {
    for (const Engine* engine : target_.engines) {
      if (engine->name() != "cudnn" && engine->name() != "gemm") own_.engines.push_back(engine);
    }
    own_.info = target_.info;
  }

  // The Engines that run the Concats, and how many Reformats there are, by either partitioner.
  std::string ConcatsBy(const std::string& text, Partitioner partitioner) {
    program_ = ExpectRunsLikeEvaluate(GraphWithWeights(text), {}, own_, partitioner);
    if (program_ == nullptr) return "";
    std::string engines;
    int reformats = 0;
    for (const Partition& p : program_->partitions) {
      const std::string& op = p.chosen.nodes[0]->op();
      if (op == "Concat") absl::StrAppend(&engines, p.chosen.engine->name(), " ");
      reformats += op == "Reformat" ? 1 : 0;
    }
    return absl::StrCat(engines, reformats, " reformats");
  }

  Target own_;
  std::shared_ptr<const Program> program_;
};

TEST_F(InterleavedProgramsTest, ADenseBlockGrowsInOneBuffer) {
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    // The image comes row-major.
    EXPECT_EQ(ConcatsBy(DenseBlock(kMaxPool), partitioner), "view view 1 reformats");
    ASSERT_NE(program_, nullptr);
    int64_t block = -1;
    for (size_t i = 0; i < program_->partitions.size(); ++i) {
      if (program_->partitions[i].chosen.nodes[0]->op() != "Concat") continue;
      const PlacedStep& step = program_->steps[i];
      if (block < 0) block = step.out[0].offset;
      EXPECT_EQ(step.out[0].offset, block);
      EXPECT_EQ(step.in[0].offset, block);
      const Value& first = program_->partitions[i].chosen.nodes[0]->input(0);
      EXPECT_EQ(step.in[1].offset, block + 2 * first.dim(1));
    }
  }
}

TEST_F(InterleavedProgramsTest, AnInputThatCannotBeWrittenThereIsCopied) {
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    EXPECT_EQ(ConcatsBy(DenseBlock("Sigmoid"), partitioner), "view view 1 reformats");
  }
}

TEST_F(InterleavedProgramsTest, AConcatThatIsAGraphOutputIsWrittenToTheCaller) {
  const std::string text = absl::StrReplaceAll(
      DenseBlock(kMaxPool), {{"=> (y, z)", "=> (u, z)"}, {"y = GlobalAveragePool(u)", ""}});
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    const std::string concats = ConcatsBy(text, partitioner);
    EXPECT_NE(concats.find("kernel"), std::string::npos) << concats;
  }
}

// Softmax reads dense tensors only.
TEST_F(InterleavedProgramsTest, AReaderOfDenseTensorsGetsACopyOrADenseConcat) {
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    EXPECT_NE(ConcatsBy(DenseBlock(kMaxPool, "z = Softmax<axis = 1>(t)"), partitioner), "");
  }
}

// Of a pixel an image, whose layout says nothing of the layout that the pool reads.
TEST_F(InterleavedProgramsTest, PoolsOfWholeImagesWriteDense) {
  const std::string text = R"(
      g (float16[2,32,4,4] x, float16[2,32,1,1] z, float16[32,32,1,1] wa, float16[32,64,1,1] wb,
         float16[32,96,1,1] wc, float16[32,128,1,1] wd) => (y)
      { p = MaxPool<kernel_shape = [4,4]>(x) a = Conv(z, wa) t = Concat<axis = 1>(p, a)
        b = Conv(t, wb) u = Concat<axis = 1>(t, b) c = Conv(u, wc) v = Concat<axis = 1>(u, c)
        y = Conv(v, wd) })";
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    EXPECT_NE(ConcatsBy(text, partitioner), "");
    ASSERT_NE(program_, nullptr);
    for (const Partition& p : program_->partitions) {
      if (p.chosen.nodes[0]->op() != "MaxPool") continue;
      EXPECT_FALSE(p.chosen.outputs[0].format.has_foreign_lanes());
    }
  }
}

TEST_F(InterleavedProgramsTest, ConvolutionsReadAndWriteThePixelsOfOthers) {
  const Graph graph = GraphWithWeights(DenseBlock(kMaxPool));
  const auto has = [&](const Node& node, std::string_view line) {
    const std::vector<std::string> lines = Describe(At(graph, node).candidates);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  const auto node = [&](std::string_view output) -> const Node& {
    for (const Node* n : graph.TopologicalOrder()) {
      if (n->output(0).name() == output) return *n;
    }
    return FindNode(graph, "none");
  };
  EXPECT_TRUE(has(node("p"), "{MaxPool} last > 2:4 3:4 1:16^32"));
  EXPECT_TRUE(has(node("f"), "{Conv} last > 2:4 3:4 1:8^32"));
  EXPECT_TRUE(has(node("f"), "{Conv} last > last"));
  EXPECT_TRUE(has(node("k"), "{Mul Add Relu Conv Relu} 2:4 3:4 1:24^32 > last"));
  EXPECT_TRUE(has(node("h"), "{Mul Add Relu} 2:4 3:4 1:24^32 > last"));
}

}  // namespace
}  // namespace onnx_cudnn

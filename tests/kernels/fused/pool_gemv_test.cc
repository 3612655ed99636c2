// Which ends of classifiers run as one launch, and their prices.
#include "passes/build_program.h"
#include "passes/partition/partitioners.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

using PoolGemvTest = KernelsTest;

TEST_F(PoolGemvTest, TakesViewsBetweenAndWhatGemvDoesBehind) {
  ExpectCases({
      {"the tail of a ResNet",
       "g (float16[1,16,7,7] x, float16[5,16] w, float16[5] wb) => (y) "
       "{ p = GlobalAveragePool(x) f = Flatten(p) t = Gemm<transB = 1>(f, w, wb) "
       "y = Cast<to = 1>(t) }",
       "Gemm", "{GlobalAveragePool Flatten Gemm Cast}"},
      {"the same from its pooling on",
       "g (float16[1,16,7,7] x, float16[5,16] w, float16[5] wb) => (y) "
       "{ p = GlobalAveragePool(x) f = Flatten(p) t = Gemm<transB = 1>(f, w, wb) "
       "y = Cast<to = 1>(t) }",
       "GlobalAveragePool", "{GlobalAveragePool Flatten Gemm Cast}"},
      {"several views, a bias behind a MatMul",
       "g (bfloat16[2,8,3,3] x, bfloat16[8,6] w, bfloat16[6] wb) => (y) "
       "<int64[2] axes = {2,3}, int64[3] d = {1,2,8}> "
       "{ p = GlobalAveragePool(x) s = Squeeze(p, axes) r = Reshape(s, d) t = MatMul(r, w) "
       "u = Add(t, wb) y = Relu(u) }",
       "MatMul", "{GlobalAveragePool Squeeze Reshape MatMul Add Relu}"},
      {"one spatial axis",
       "g (float16[2,8,9] x, float16[8,6] w) => (y) "
       "{ p = GlobalAveragePool(x) f = Flatten(p) y = MatMul(f, w) }",
       "MatMul", "{GlobalAveragePool Flatten MatMul}"},
  });
}

TEST_F(PoolGemvTest, ReadsChannelsLastAndWritesRows) {
  const Graph graph = GraphWithWeights(
      "g (float16[2,8,3] x, float16[8,6] w) => (y) <int64[3] d = {1,2,8}> "
      "{ p = GlobalAveragePool(x) r = Reshape(p, d) y = MatMul(r, w) }");
  EXPECT_EQ(LinesAt(graph, "MatMul"),
            (std::vector<std::string>{"{MatMul} rows > rows",
                                      "{GlobalAveragePool Reshape MatMul} last > rows"}));
}

// Rows: the ops between the image x and the result y.
TEST_F(PoolGemvTest, LeavesOtherTails) {
  const auto leaves = [&](const char* inputs, const std::string& nodes, const char* says) {
    ExpectPoolAlone(inputs, nodes, "pool_gemv", says);
  };
  const std::string tail = "p = GlobalAveragePool(x) f = Flatten(p) y = MatMul(f, w)";
  leaves("float[1,8,7,7] x, float[8,6] w", tail, "it does not take f32");
  leaves("float16[1,12,7,7] x, float16[12,6] w", tail, "a depth of 12 is no multiple of 16 bytes");
  leaves("float16[1,2056,7,7] x, float16[2056,6] w", tail, "2056 channels are more than 2048");
  leaves("float16[9,8,7,7] x, float16[8,6] w", tail, "9 rows are more than 8");
  leaves("float16[1,8,7,7] x, float16[8,6] v",
         "p = GlobalAveragePool(x) f = Flatten(p) y = MatMul(f, v)", "v is not a constant matrix");
  leaves("float16[8,1,7,7] x, float16[8,6] w",
         "p = GlobalAveragePool(x) f = Flatten<axis = 0>(p) y = MatMul(f, w)",
         "f is f16[1,8], not rows of 1 channels");
  // Not such a pattern.
  leaves("float16[1,8,7,7] x, float16[8,6] w",
         "p = GlobalAveragePool(x) r = Relu(p) f = Flatten(r) y = MatMul(f, w)", "");
  leaves("float16[8,8,7,7] x, float16[6,8] w",
         "p = GlobalAveragePool(x) f = Flatten(p) y = MatMul(w, f)", "");
}

// Two launches are faster for two images.
TEST_F(PoolGemvTest, ManyElementsAreBeyondItsFit) {
  for (const int images : {1, 2}) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {images, 2048, 7, 7}));
    Value& rows = Append(graph, "Flatten", {&Append(graph, "GlobalAveragePool", {&x})});
    Append(graph, "MatMul", {&rows, &Weights(graph, DType::kF16, {2048, 1000})});
    graph.AddOutput("y", *graph.TopologicalOrder().back()->outputs()[0]);
    const Candidate fused = At(graph, "GlobalAveragePool").candidates.back();
    ASSERT_EQ(OpsOf(fused), "{GlobalAveragePool Flatten MatMul}");
    const double apart = At(graph, "GlobalAveragePool").candidates.front().cost.us +
                         At(graph, "MatMul").candidates.front().cost.us;
    EXPECT_EQ(fused.beyond_fit, images == 2);
    EXPECT_EQ(fused.cost.us > apart, images == 2) << fused.cost.us << " " << apart;
  }
}

TEST_F(PoolGemvTest, ManyPixelsAreBeyondItsFit) {
  for (const int images : {7, 8}) {  // 504 and 576 pixels
    const Graph graph = GraphWithWeights(
        absl::StrCat("g (float16[", images,
                     ",8,9,8] x, float16[8,6] w) => (y) "
                     "{ p = GlobalAveragePool(x) f = Flatten(p) y = MatMul(f, w) }"));
    const Candidate fused = At(graph, "GlobalAveragePool").candidates.back();
    ASSERT_EQ(OpsOf(fused), "{GlobalAveragePool Flatten MatMul}");
    EXPECT_EQ(fused.beyond_fit, images == 8);
  }
}

// Greedy takes the largest Candidate, and would take this one despite its price.
TEST_F(PoolGemvTest, GreedyLeavesWhatIsBeyondItsFit) {
  for (const int images : {1, 2}) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {images, 2048, 7, 7}));
    Value& rows = Append(graph, "Flatten", {&Append(graph, "GlobalAveragePool", {&x})});
    graph.AddOutput("y",
                    Append(graph, "MatMul", {&rows, &Weights(graph, DType::kF16, {2048, 1000})}));
    const auto program = BuildProgram(graph, {}, target_, {.partitioner = Greedy});
    ASSERT_TRUE(program.ok()) << program.status();
    const std::string partitions = Partitions(**program);
    const bool fused =
        partitions.find("kernel {GlobalAveragePool Flatten MatMul}") != std::string::npos;
    EXPECT_EQ(fused, images == 1) << partitions;
  }
}

TEST_F(PoolGemvTest, LeavesAveragesWithOtherReaders) {
  const Graph graph = GraphWithWeights(
      "g (float16[1,8,7,7] x, float16[8,6] w) => (y, z) "
      "{ p = GlobalAveragePool(x) f = Flatten(p) y = MatMul(f, w) z = Relu(f) }");
  EXPECT_EQ(LinesAt(graph, "MatMul"), std::vector<std::string>{"{MatMul} rows > rows"});
}

TEST_F(PoolGemvTest, IsPricedByItsWeightsAndABlocksShareOfTheImages) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {1, 2048, 7, 7}));
  Value& rows = Append(graph, "Flatten", {&Append(graph, "GlobalAveragePool", {&x})});
  Append(graph, "Gemm", {&rows, &Weights(graph, DType::kF16, {1000, 2048})},
         {{"transB", int64_t{1}}});
  graph.AddOutput("y", *graph.TopologicalOrder().back()->outputs()[0]);
  const Cost cost = At(graph, "GlobalAveragePool").candidates.back().cost;
  EXPECT_NEAR(cost.us, 2 + 2.0 * 1000 * 2048 / 3e6 + 2.0 * 49 * 2048 / 8 / 2e4, 0.01);
}

// The choice of both partitioners, from a convolution on.
TEST_F(PoolGemvTest, IsChosenAfterAConvolution) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {1, 64, 7, 7}));
  Value& image = Append(
      graph, "Relu", {&Append(graph, "Conv", {&x, &Weights(graph, DType::kF16, {64, 64, 1, 1})})});
  Value& rows = Append(graph, "Flatten", {&Append(graph, "GlobalAveragePool", {&image})});
  Value& product =
      Append(graph, "Gemm",
             {&rows, &Weights(graph, DType::kF16, {10, 64}), &Weights(graph, DType::kF16, {10})},
             {{"transB", int64_t{1}}});
  graph.AddOutput("y", Append(graph, "Cast", {&product}, {{"to", int64_t{1}}}));
  ExpectChosen(graph, "kernel {GlobalAveragePool Flatten Gemm Cast}");
}

}  // namespace
}  // namespace onnx_cudnn

#include "tests/kernels/kernels_fixture.h"

#include "absl/log/check.h"
#include "runtime/graph/infer.h"
#include "tests/ops/run_op.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {

void KernelsTest::ExpectChosen(const Graph& graph, std::string_view partition,
                               const std::vector<Partitioner>& partitioners) const {
  for (const Partitioner partitioner : partitioners) {
    const auto program = ExpectRunsLikeEvaluate(graph, {}, target_, partitioner);
    ASSERT_NE(program, nullptr);
    EXPECT_NE(Partitions(*program).find(partition), std::string::npos) << Partitions(*program);
  }
}

void KernelsTest::ExpectPoolAlone(const std::string& inputs, const std::string& nodes,
                                  const std::string& kernel, const std::string& says) const {
  const Graph graph = GraphWithWeights("g (" + inputs + ") => (y) { " + nodes + " }");
  const Proposed proposed = At(graph, "GlobalAveragePool");
  for (const Candidate& c : proposed.candidates) EXPECT_EQ(OpsOf(c), "{GlobalAveragePool}");
  std::vector<std::string> reasons;
  if (!says.empty()) reasons.push_back(kernel + ": " + says);
  EXPECT_EQ(proposed.reasons, reasons) << nodes;
}

Value& Weights(Graph& graph, DType dtype, const Dims& dims) {
  return graph.AddConstant(TensorOf(dtype, dims, Pattern(ElementsOf(dims), 1)));
}

Value& Append(Graph& graph, std::string op, std::vector<Value*> inputs, Attrs attrs) {
  Node& node =
      graph.AddNode({.op = std::move(op), .inputs = std::move(inputs), .attrs = std::move(attrs)});
  CHECK_OK(InferShapes(graph));
  return node.output(0);
}

Value& MaxPool(Graph& graph, Value& x) {
  using Ints = std::vector<int64_t>;
  return Append(
      graph, "MaxPool", {&x},
      {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
}

}  // namespace onnx_cudnn

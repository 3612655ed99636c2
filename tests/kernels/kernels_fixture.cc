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

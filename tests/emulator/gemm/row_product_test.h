// Graphs of a product with a constant matrix and what follows, as one launch in the emulator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {

class RowProductTest : public KernelsTest {
 protected:
  static constexpr double kHalf = 1e-3, kBrain = 8e-3;  // f16 and bf16 round to 11 and 8 bits

  Value& Input(DType dtype, const Dims& dims) {
    return graph_.AddInput("x", Type::Tensor(dtype, dims));
  }
  Value& MatMul(Value& x, int64_t columns) {
    const int64_t depth = x.dim(x.rank() - 1);
    return Append(graph_, "MatMul", {&x, &Weights(graph_, x.dtype(), {depth, columns})});
  }
  // With a bias.
  Value& Gemm(Value& x, int64_t columns, int64_t transposed) {
    const int64_t depth = x.dim(1);
    const Dims dims = transposed != 0 ? Dims{columns, depth} : Dims{depth, columns};
    return Append(graph_, "Gemm",
                  {&x, &Weights(graph_, x.dtype(), dims), &Weights(graph_, x.dtype(), {columns})},
                  {{"transB", transposed}});
  }
  Value& Add(Value& a, Value& b) { return Append(graph_, "Add", {&a, &b}); }

  // The Candidate of all Nodes; nullopt: nothing is proposed for them.
  std::optional<Candidate> OfAll() {
    const std::vector<Node*> order = graph_.TopologicalOrder();
    if (graph_.outputs().empty()) graph_.AddOutput("y", *order.back()->outputs()[0]);
    const Unit unit = UnitOf({order.begin(), order.end()});
    for (const Candidate& candidate : At(graph_, *order[0]).candidates) {
      if (candidate.nodes == unit.nodes) return candidate;
    }
    return std::nullopt;
  }
  absl::StatusOr<KernelCode> CodeOf(CompileKernel compile, std::string_view variant) {
    const std::optional<Candidate> candidate = OfAll();
    if (!candidate.has_value()) return absl::NotFoundError("nothing is proposed for all Nodes");
    const Unit unit = UnitOf(candidate->nodes);
    return compile({unit, *candidate, target_, variant});
  }
  // Compares the code with the references. `x`: the numbers of the first input.
  std::string Compare(CompileKernel compile, double tolerance, std::string_view variant,
                      const std::vector<double>& x = {}) {
    const std::optional<Candidate> candidate = OfAll();
    if (!candidate.has_value()) return "nothing is proposed for all Nodes";
    const Unit unit = UnitOf(candidate->nodes);
    std::vector<HostTensor> inputs;
    for (const Value* v : unit.boundary.inputs) {
      const bool is_given = inputs.empty() && !x.empty();
      inputs.push_back(TensorOf(v->dtype(), v->dims(),
                                is_given ? x : Pattern(v->elements(), inputs.size() + 7)));
    }
    return emulator::CompareWithReference(CodeOf(compile, variant), *candidate, inputs, tolerance);
  }
  // Compares Gemms of 33 rows and 128 columns with weights whose columns are innermost, and
  // outermost.
  void CompareGemms(CompileKernel compile, DType dtype, int64_t columns, double tolerance) {
    for (const int64_t transposed : {0, 1}) {
      graph_ = Graph();
      Gemm(Input(dtype, {33, 128}), columns, transposed);
      EXPECT_EQ(Compare(compile, tolerance, ""), "") << transposed;
    }
  }

  Graph graph_;
};

}  // namespace onnx_cudnn

// Graphs of convolutions in the emulator, with a Target that allows TF32 products and whose blocks
// have several tiles each.
#pragma once

#include <string>
#include <vector>

#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {

// f16, bf16 and tf32 round to 11, 8 and 11 bits; sums are f32 on both sides.
inline constexpr double kHalf = 1e-3, kBrain = 8e-3, kTf32 = 2e-3;

// Rounding to the nearest TF32 number changes these up and down by a quarter of the last digit.
inline constexpr double kGoesUp = 1 + 0.75 / 1024, kGoesDown = 1 + 0.25 / 1024;

class EmulatedConvTest : public KernelsTest {
 protected:
  using Ints = std::vector<int64_t>;

  EmulatedConvTest() {
    target_with_few_blocks_.info.multiprocessors = 3;
    target_with_few_blocks_.numerics.tf32 = true;
  }

  Value& Conv(Value& x, int64_t filters, int64_t kernel, int64_t stride, bool has_bias = true) {
    const int64_t pad = kernel / 2;
    std::vector<Value*> inputs = {&x,
                                  &Weights(graph_, x.dtype(), {filters, x.dim(1), kernel, kernel})};
    if (has_bias) inputs.push_back(&Weights(graph_, x.dtype(), {filters}));
    return Append(graph_, "Conv", inputs,
                  {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
  }

  // The Candidate around the first Conv whose Describe text starts with `line`.
  Candidate Find(std::string_view line) {
    graph_.AddOutput("y", *graph_.TopologicalOrder().back()->outputs()[0]);
    const Proposed proposed =
        ProposedBy(*engine_, graph_, FindNode(graph_, "Conv"), target_with_few_blocks_);
    for (const Candidate& c : proposed.candidates) {
      if (Describe(c).starts_with(line)) return c;
    }
    ADD_FAILURE() << "nothing is proposed as " << line;
    return {};
  }

  // f32 tensor filled with `number`.
  static HostTensor All(const Dims& dims, double number) {
    return TensorOf(DType::kF32, dims, std::vector<double>(ElementsOf(dims), number));
  }

  // Inputs of both signs for the Candidate.
  static std::vector<HostTensor> InputsOf(const Candidate& candidate) {
    std::vector<HostTensor> inputs;
    for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), inputs.size() + 7)));
    }
    return inputs;
  }

  absl::StatusOr<KernelCode> CodeOf(CompileKernel compile, const Candidate& candidate,
                                    std::string_view variant = "") const {
    const Unit unit = UnitOf(candidate.nodes);
    return compile({unit, candidate, target_with_few_blocks_, variant});
  }

  std::string Compare(CompileKernel compile, std::string_view line, double tolerance,
                      std::string_view variant = "") {
    const Candidate candidate = Find(line);
    return emulator::CompareWithReference(CodeOf(compile, candidate, variant), candidate,
                                          InputsOf(candidate), tolerance);
  }

  // Of a convolution of x and its activation.
  std::string CompareWithRelu(CompileKernel compile, DType dtype, const Dims& dims, int64_t filters,
                              int64_t kernel, double tolerance) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(dtype, dims));
    Append(graph_, "Relu", {&Conv(x, filters, kernel, 1)});
    return Compare(compile, "{Conv Relu} last > last", tolerance);
  }
  // Of a convolution of x, a residual (in front: the sum's first operand) and their activation.
  std::string CompareWithResidual(CompileKernel compile, DType dtype, const Dims& dims,
                                  int64_t filters, int64_t kernel, int64_t stride, bool in_front,
                                  double tolerance) {
    graph_ = Graph();
    Value& product = Conv(graph_.AddInput("x", Type::Tensor(dtype, dims)), filters, kernel, stride);
    Value& r = graph_.AddInput("r", product.type());
    Value& sum = Append(graph_, "Add", {in_front ? &r : &product, in_front ? &product : &r});
    Append(graph_, "Relu", {&sum});
    return Compare(compile, "{Conv Add Relu} last last > last", tolerance);
  }
  // Of the sum of x and a convolution of x.
  std::string CompareWithItsImage(CompileKernel compile, const Dims& dims, int64_t kernel) {
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, dims));
    Append(graph_, "Add", {&x, &Conv(x, x.dim(1), kernel, 1)});
    return Compare(compile, "{Conv Add}", kHalf);
  }

  // Expects that products of f32 must be allowed to be of TF32.
  void ExpectNeedsTf32(CompileKernel compile, std::string_view line) {
    const Candidate candidate = Find(line);
    target_with_few_blocks_.numerics.tf32 = false;
    EXPECT_EQ(CodeOf(compile, candidate).status().message(),
              "its products of f32 are tf32, which is not allowed");
  }

  Graph graph_;
  Target target_with_few_blocks_ = target_;
};

}  // namespace onnx_cudnn

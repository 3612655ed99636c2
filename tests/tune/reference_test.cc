#include "runtime/tune/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "runtime/exec/cpu_device.h"
#include "runtime/graph/float16.h"
#include "tests/tune/some_kernels.h"

namespace onnx_cudnn {
namespace {

// z = -|x + y|; the sum is an output too.
class ReferenceTest : public testing::Test {
 protected:
  ReferenceTest() {
    const Type type = Type::Tensor(DType::kF32, {2, 2});
    Value& x = graph_.AddInput("x", type);
    Value& y = graph_.AddInput("y", type);
    const auto add = [&](const char* op, std::vector<Value*> inputs) -> Value& {
      Node& node = graph_.AddNode({.op = op, .inputs = std::move(inputs)});
      graph_.SetType(node.output(0), type);
      candidate_.nodes.push_back(&node);
      return node.output(0);
    };
    Value& sum = add("Add", {&x, &y});
    Value& magnitude = add("Abs", {&sum});
    graph_.AddOutput("sum", sum);
    graph_.AddOutput("z", add("Neg", {&magnitude}));
  }

  const std::unique_ptr<Device> device_ = MakeCpuDevice({.like_a_gpu = true});
  ConstantStore constants_{*device_};
  Graph graph_;
  Candidate candidate_;
};

TEST_F(ReferenceTest, RunsKernelsAndReferencesInAnyOrder) {
  for (const std::set<std::string>& ops : std::vector<std::set<std::string>>{
           {}, {"Abs"}, {"Add", "Neg"}, {"Abs", "Neg"}, {"Add", "Abs", "Neg"}}) {
    const SomeKernels kernels(ops);
    const Target target{.engines = {&kernels}};
    Reference reference(candidate_, target, *device_, constants_);
    ASSERT_EQ(reference.Run(IndexValues::kZero), absl::OkStatus());
    const auto inputs = reference.Inputs(), outputs = reference.Outputs();
    ASSERT_TRUE(inputs.ok() && outputs.ok()) << inputs.status() << outputs.status();
    ASSERT_EQ(inputs->size(), 2u);
    ASSERT_EQ(outputs->size(), 2u);
    for (int i = 0; i < 4; ++i) {
      const float sum = (*inputs)[0].data<float>()[i] + (*inputs)[1].data<float>()[i];
      EXPECT_EQ((*outputs)[0].data<float>()[i], sum);
      EXPECT_EQ((*outputs)[1].data<float>()[i], -std::abs(sum));
    }
  }
}

TEST_F(ReferenceTest, LargeInputsAreMadeWhole) {
  Graph graph;
  const Type type = Type::Tensor(DType::kF16, {1 << 20});
  Node& node = graph.AddNode({.op = "Abs", .inputs = {&graph.AddInput("x", type)}});
  graph.SetType(node.output(0), type);
  graph.AddOutput("y", node.output(0));
  const Candidate candidate{.nodes = {&node}};
  Reference reference(candidate, {}, *device_, constants_);
  ASSERT_EQ(reference.Run(IndexValues::kZero), absl::OkStatus());
  const std::vector<HostTensor> inputs = *reference.Inputs();
  const absl::Span<const Float16> x = inputs[0].data<Float16>();
  const auto zeros = std::count_if(x.begin(), x.end(), [](Float16 f) { return ToFloat(f) == 0; });
  EXPECT_GT(zeros, (1 << 20) / 300);
  EXPECT_LT(zeros, (1 << 20) / 200);
}

}  // namespace
}  // namespace onnx_cudnn

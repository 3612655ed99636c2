#include "runtime/tune/reference.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "runtime/exec/cpu_device.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {
namespace {

// The Engine `kernel` for some ops.
class SomeKernels final : public Engine {
 public:
  explicit SomeKernels(std::set<std::string> ops) : ops_(std::move(ops)) {}
  std::string_view name() const override { return "kernel"; }
  void Propose(const Graph&, const Node&, const Target&, CandidateSink&) const override {}
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 1}; }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    if (!ops_.contains(std::string(candidate.nodes[0]->op()))) return Compiled::No("not this op");
    return CompileReference(candidate);
  }

 private:
  const std::set<std::string> ops_;
};

// z = -|x + y|, and the sum leaves too.
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

  HostTensor Pinned(const std::vector<float>& values) {
    const std::shared_ptr<std::byte> memory =
        *device_->Allocate(values.size() * sizeof(float), Space::kHost);
    std::memcpy(memory.get(), values.data(), values.size() * sizeof(float));
    return HostTensor::Borrow(DType::kF32, {2, 2}, memory.get(), memory);
  }

  const std::unique_ptr<Device> device_ = MakeCpuDevice({.like_a_gpu = true});
  ConstantStore constants_{*device_};
  Graph graph_;
  Candidate candidate_;
};

TEST_F(ReferenceTest, RunsKernelsAndReferencesInAnyOrder) {
  const std::vector<HostTensor> inputs = {Pinned({1, -2, 3, 4}), Pinned({1, 1, -5, 0})};
  for (const std::set<std::string>& ops : std::vector<std::set<std::string>>{
           {}, {"Abs"}, {"Add", "Neg"}, {"Abs", "Neg"}, {"Add", "Abs", "Neg"}}) {
    const SomeKernels kernels(ops);
    const Target target{.engines = {&kernels}};
    const auto outputs = RunNodeByNode(candidate_, inputs, target, *device_, constants_);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_EQ(outputs->size(), 2u);
    EXPECT_EQ((*outputs)[0].data<float>(), (absl::Span<const float>{{2, -1, -2, 4}}));
    EXPECT_EQ((*outputs)[1].data<float>(), (absl::Span<const float>{{-2, -1, -2, -4}}));
  }
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/tune/device_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exec/cpu_device.h"
#include "tests/tune/changed_relu.h"
#include "tests/tune/some_kernels.h"

namespace onnx_cudnn {
namespace {

const std::set<std::string> kNeeded = {"Relu", "Reformat", "Abs",         "Sub",       "Mul",
                                       "Add",  "Cast",     "LessOrEqual", "ReduceMax", "ReduceMin"};

// A channels-last Relu of f32[2,3,4,4], on a device with memory that the host cannot read.
class DeviceCheckTest : public testing::Test {
 protected:
  DeviceCheckTest() {
    const Type type = Type::Tensor(DType::kF32, dims_);
    Node& node = graph_.AddNode({.op = "Relu", .inputs = {&graph_.AddInput("x", type)}});
    graph_.SetType(node.output(0), type);
    graph_.AddOutput("y", node.output(0));
    const Placement placement{.format = Format::ChannelsLast(dims_, 1), .space = Space::kDevice};
    candidate_ = {.nodes = {&node}, .inputs = {placement}, .outputs = {placement}};
  }

  bool Agrees(const Change& change, const std::set<std::string>& ops = kNeeded) {
    const SomeKernels kernels(ops);
    const Target target{.engines = {&kernels}};
    Reference reference(candidate_, target, *device_, constants_);
    EXPECT_EQ(reference.Run(IndexValues::kZero), absl::OkStatus());
    DeviceCheck check(candidate_, target, *device_, constants_, reference);
    const Tolerance tolerance{.relative = 1e-3, .absolute = 1e-3};
    const auto agrees = check.Agrees(std::make_shared<ChangedRelu>(96, change), {tolerance});
    EXPECT_TRUE(agrees.ok()) << agrees.status();
    return agrees.ok() && *agrees;
  }

  const Dims dims_ = {2, 3, 4, 4};
  const std::unique_ptr<Device> device_ = MakeCpuDevice({.like_a_gpu = true});
  ConstantStore constants_{*device_};
  Graph graph_;
  Candidate candidate_;
};

TEST_F(DeviceCheckTest, WhatIsRightAgrees) {
  EXPECT_TRUE(Agrees([](float*) {}));
  EXPECT_TRUE(Agrees([](float* y) { y[95] += 5e-4; }));
}

TEST_F(DeviceCheckTest, OneWrongElementDoesNot) {
  for (const int i : {0, 17, 95}) {
    EXPECT_FALSE(Agrees([&](float* y) { y[i] += 0.01f; })) << i;
    EXPECT_FALSE(Agrees([&](float* y) { y[i] = std::numeric_limits<float>::quiet_NaN(); })) << i;
    EXPECT_FALSE(Agrees([&](float* y) { y[i] = std::numeric_limits<float>::infinity(); })) << i;
  }
  EXPECT_FALSE(Agrees([](float* y) { std::reverse(y, y + 96); }));
}

TEST_F(DeviceCheckTest, IsUndecidedWithoutItsKernels) {
  // SomeKernels supports a unit according to its first Node.
  for (const char* op : {"Reformat", "Sub", "ReduceMax", "ReduceMin"}) {
    std::set<std::string> ops = kNeeded;
    ops.erase(op);
    EXPECT_FALSE(Agrees([](float*) {}, ops)) << op;
  }
}

TEST_F(DeviceCheckTest, PaddingIsForTheHost) {
  candidate_.outputs[0].format = Format::ChannelsLast(dims_, 4);
  EXPECT_FALSE(Agrees([](float*) {}));
}

}  // namespace
}  // namespace onnx_cudnn

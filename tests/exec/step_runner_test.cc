#include "runtime/exec/step_runner.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/seeded_numbers.h"
#include "runtime/exec/view_engine.h"
#include "runtime/plan/reference_step.h"
#include "tests/support/forwarding_device.h"

namespace onnx_cudnn {
namespace {

using Padding = StepRunner::Padding;

// y = x + w of f32[1,3,2,2], channels-last with three channels padded to four.
class StepRunnerTest : public testing::Test {
 protected:
  StepRunnerTest() {
    const Type type = Type::Tensor(DType::kF32, kDims);
    Value& x = graph_.AddInput("x", type);
    Value& w = graph_.AddConstant(HostTensor::Of<float>(DType::kF32, {1}, {{1}}));
    Node& node = graph_.AddNode({.op = "Add", .inputs = {&x, &w}});
    graph_.SetType(node.output(0), type);
    graph_.AddOutput("y", node.output(0));
    const Placement padded = {Format::ChannelsLast(kDims, 4)};
    candidate_ = {.nodes = {&node}, .inputs = {padded}, .outputs = {padded}};
    for (int i = 0; i < 12; ++i) values_.push_back(static_cast<float>(i));
  }
  absl::StatusOr<StepResult> Run(std::shared_ptr<const Step> step, Padding padding) {
    ASSIGN_OR_RETURN(runner_, StepRunner::Create(candidate_, step, *device_, constants_));
    return runner_->Run({HostTensor::Of<float>(DType::kF32, kDims, values_)}, padding);
  }

  const Dims kDims = {1, 3, 2, 2};
  Graph graph_;
  Candidate candidate_;
  std::vector<float> values_;
  const std::unique_ptr<Device> device_ = MakeCpuDevice({.like_a_gpu = true});
  ConstantStore constants_{*device_};
  std::unique_ptr<StepRunner> runner_;
};

TEST_F(StepRunnerTest, RunsAStepInItsFormats) {
  const auto step = CompileReference(candidate_)->step();
  for (const Padding padding : {Padding::kZero, Padding::kPoison}) {
    const absl::StatusOr<StepResult> result = Run(step, padding);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->padding_is_zero);
    EXPECT_TRUE(result->foreign_is_kept);
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(result->outputs[0].data<float>()[i], static_cast<float>(i + 1));
    }
  }
  EXPECT_GT(*runner_->MeasureUs(3), 0);
}

TEST_F(StepRunnerTest, RunsOverMemoryThatItIsGiven) {
  const Format& format = candidate_.inputs[0].format;
  const std::shared_ptr<std::byte> x =
      *device_->Allocate(format.bytes(DType::kF32), Space::kDevice);
  Pack(DType::kF32, kDims, values_.data(), format, x.get());
  const auto runner = StepRunner::Create(candidate_, CompileReference(candidate_)->step(), *device_,
                                         constants_, {x});
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE((*runner)->RunInPlace().ok());
  std::vector<float> y(12);
  Unpack(DType::kF32, kDims, (*runner)->output(0).get(), format, y.data());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(y[i], static_cast<float>(i + 1));
}

// Writes nothing.
class IdleStep final : public Step {
 public:
  absl::Status Launch(const LaunchArgs&) const override { return absl::OkStatus(); }
  std::string Save() const override { return ""; }
};

TEST_F(StepRunnerTest, WhatIsNotWrittenIsNan) {  // more than a block of poison
  const Dims dims = {1, 3, 200, 100};
  graph_.SetType(*graph_.inputs()[0], Type::Tensor(DType::kF32, dims));
  graph_.SetType(candidate_.nodes[0]->output(0), Type::Tensor(DType::kF32, dims));
  for (const Format& format : {Format::RowMajor(dims), Format::ChannelsLast(dims, 4)}) {
    candidate_.inputs = candidate_.outputs = {{format}};
    const auto runner =
        StepRunner::Create(candidate_, std::make_shared<IdleStep>(), *device_, constants_);
    ASSERT_TRUE(runner.ok()) << runner.status();
    const HostTensor x = SeededNumbers(DType::kF32, dims, 0, IndexValues::kZero);
    const absl::StatusOr<StepResult> result = (*runner)->Run({x}, Padding::kZero);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const float y : result->outputs[0].data<float>()) ASSERT_TRUE(std::isnan(y));
    EXPECT_EQ(result->padding_is_zero, !format.has_padding(dims));
  }
}

// Copies every lane, including padding.
class CopyStep : public Step {
 public:
  absl::Status Launch(const LaunchArgs& args) const override {
    std::memcpy(args.out[0], args.in[0], 16 * sizeof(float));
    if (args.fault != nullptr) *args.fault = 5;
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }
};

TEST_F(StepRunnerTest, SeesPaddingThatIsNotZero) {
  EXPECT_TRUE(Run(std::make_shared<CopyStep>(), Padding::kZero)->padding_is_zero);
  EXPECT_FALSE(Run(std::make_shared<CopyStep>(), Padding::kPoison)->padding_is_zero);
}

TEST_F(StepRunnerTest, SeesForeignLanesThatWereWritten) {
  const Format slice =
      Format::Of({{2, 1, 2, 2}, {3, 1, 2, 2}, {1, 1, 3, 4}});  // a fourth channel is another's
  candidate_.outputs = {{slice}};
  EXPECT_FALSE(Run(std::make_shared<CopyStep>(), Padding::kZero)->foreign_is_kept);
  const absl::StatusOr<StepResult> kept = Run(CompileReference(candidate_)->step(), Padding::kZero);
  EXPECT_TRUE(kept->foreign_is_kept);
  EXPECT_EQ(kept->outputs[0].data<float>()[11], 12);
}

TEST_F(StepRunnerTest, ReportsTheMeaningOfTheFaultWord) {
  class Faulty final : public CopyStep {
    bool may_fault() const override { return true; }
    absl::Status Fault(uint64_t word) const override {
      return absl::InvalidArgumentError(absl::StrCat("index ", word));
    }
  };
  EXPECT_EQ(Run(std::make_shared<Faulty>(), Padding::kZero).status().message(), "index 5");
}

// A GPU-like Device with an L2 cache.
class CachingDevice final : public ForwardingDevice {
 public:
  CachingDevice() { info_.l2_bytes = 1000; }
  const DeviceInfo& info() const override { return info_; }
  bool reads_host_memory() const override { return false; }

 private:
  DeviceInfo info_ = ForwardingDevice::info();
};

// Stores its launch arguments; reads the one constant.
class WatchingStep final : public Step {
 public:
  absl::Span<const Derived> constants() const override { return constants_; }
  absl::Status Launch(const LaunchArgs& args) const override {
    const auto* constant = static_cast<const float*>(args.constants[0]);
    EXPECT_EQ(*constant, 1);
    addresses.insert(constant);
    std::memcpy(input, args.in[0], sizeof(input));
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

  mutable std::set<const float*> addresses;
  mutable float input[16];

 private:
  const std::vector<Derived> constants_ = {Unchanged(0, {1})};
};

TEST_F(StepRunnerTest, MeasuresOverColdConstants) {  // four aligned sets of 256 bytes exceed 1000
  CachingDevice device;
  ConstantStore constants(device);
  const auto step = std::make_shared<WatchingStep>();
  const auto runner = StepRunner::Create(candidate_, step, device, constants);
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE((*runner)->MeasureUs(10).ok());
  EXPECT_EQ(step->addresses.size(), 1u);
  for (const auto& [repeats, sets] : std::map<int, size_t>{{2, 2}, {10, 4}}) {
    step->addresses.clear();
    ASSERT_TRUE((*runner)->MeasureUs(repeats, StepRunner::Constants::kCold).ok());
    EXPECT_EQ(step->addresses.size(), sets) << repeats;
  }
}

TEST_F(StepRunnerTest, FillsInputsForTimes) {
  const auto step = std::make_shared<WatchingStep>();
  const auto runner = StepRunner::Create(candidate_, step, *device_, constants_);
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE((*runner)->FillInputs().ok());
  ASSERT_TRUE((*runner)->MeasureUs(1).ok());
  std::set<float> values;
  for (const float x : step->input) {
    EXPECT_LE(std::abs(x), 1);
    values.insert(x);
  }
  EXPECT_GT(values.size(), 8u);
}

TEST_F(StepRunnerTest, RunsAView) {
  Node& flat = graph_.AddNode({.op = "Flatten", .inputs = {graph_.inputs()[0]}});
  graph_.SetType(flat.output(0), Type::Tensor(DType::kF32, {1, 12}));
  graph_.AddNode({.op = "Relu", .inputs = {&flat.output(0)}});
  const auto view = MakeViewEngine();
  candidate_ = RowMajorCandidate(*view, flat, Space::kDevice, {});
  const auto step = view->Compile(candidate_, {}, {})->step();
  const absl::StatusOr<StepResult> result = Run(step, Padding::kZero);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs[0].data<float>()[11], 11);
}

TEST_F(StepRunnerTest, RunsAPartOfItsInput) {
  const auto ints = [&](int64_t value) { return &graph_.AddConstant(HostTensor::Ints({value})); };
  Node& slice =
      graph_.AddNode({.op = "Slice", .inputs = {graph_.inputs()[0], ints(1), ints(3), ints(1)}});
  graph_.SetType(slice.output(0), Type::Tensor(DType::kF32, {1, 2, 2, 2}));
  graph_.AddNode({.op = "Relu", .inputs = {&slice.output(0)}});
  const auto view = MakeViewEngine();
  candidate_ = RowMajorCandidate(*view, slice, Space::kDevice, {});
  const absl::StatusOr<StepResult> result =
      Run(view->Compile(candidate_, {}, {})->step(), Padding::kZero);
  ASSERT_TRUE(result.ok()) << result.status();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(result->outputs[0].data<float>()[i], static_cast<float>(4 + i));
  }
}

}  // namespace
}  // namespace onnx_cudnn

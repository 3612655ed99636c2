#include "runtime/exec/partition_check.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/graph/float16.h"
#include "runtime/plan/reference_step.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class CheckPartitionsTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<PartitionCheck>> Check(const Program& program,
                                                    const std::vector<HostTensor>& inputs) {
    return CheckPartitions(program, inputs, target_.target, *device_, constants_);
  }
  std::shared_ptr<Program> Build(std::string_view text) {
    const Graph graph = GraphFromText(text);
    auto program = BuildProgram(graph, {}, target_.target, {});
    EXPECT_TRUE(program.ok()) << program.status();
    return std::const_pointer_cast<Program>(*std::move(program));
  }
  static int PartitionOf(const Program& program, std::string_view op) {
    for (size_t p = 0; p < program.partitions.size(); ++p) {
      for (const Node* node : program.partitions[p].chosen.nodes) {
        if (node->op() == op) return static_cast<int>(p);
      }
    }
    return -1;
  }

  const OwnedTarget target_ = *MakeTarget("h200");
  const std::unique_ptr<Device> device_ = MakeCpuDevice({.like_a_gpu = true});
  ConstantStore constants_{*device_};
};

const HostTensor kX = HostTensor::Of<float>(DType::kF32, {2, 3}, {{-3, -1, 0, 1, 2, 3}});

TEST_F(CheckPartitionsTest, AWrongPartitionIsListedFirst) {
  const auto program = Build(R"(
      g (float[2,3] x) => (float[3,2] y) {
        r = Relu(x)
        t = Transpose<perm = [1, 0]>(r)
        y = Exp(t) })");
  const auto right = Check(*program, {kX});
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->size(), program->partitions.size());
  for (const PartitionCheck& check : *right) EXPECT_TRUE(check.ok()) << check.partition;

  const auto other = Build("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }");
  const int wrong = PartitionOf(*program, "Relu");
  ASSERT_GE(wrong, 0);
  ASSERT_EQ(program->partitions[wrong].chosen.nodes.size(), 1);
  program->partitions[wrong].step = other->partitions[PartitionOf(*other, "Neg")].step;
  const auto checks = Check(*program, {kX});
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_EQ((*checks)[0].partition, wrong);
  EXPECT_FALSE((*checks)[0].ok());
  EXPECT_EQ((*checks)[0].difference.largest, 6);  // Relu(3) = 3, Neg(3) = −3
  // The partitions after it read what the references computed.
  for (size_t i = 1; i < checks->size(); ++i) EXPECT_TRUE((*checks)[i].ok());
}

// A Step that adds to every element of the Step it wraps: of the partition, not of its ops alone.
class Shifted final : public Step {
 public:
  Shifted(std::shared_ptr<const Step> step, int64_t elements)
      : step_(std::move(step)), elements_(elements) {}
  int64_t workspace_bytes() const override { return step_->workspace_bytes(); }
  absl::Span<const Derived> constants() const override { return step_->constants(); }
  absl::Status Launch(const LaunchArgs& args) const override {
    RETURN_IF_ERROR(step_->Launch(args));
    auto* y = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < elements_; ++i) y[i] += 0.5f;
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const std::shared_ptr<const Step> step_;
  const int64_t elements_;
};

TEST_F(CheckPartitionsTest, AWrongFusionHasOpsThatAreRightAlone) {
  const auto program = Build(R"(
      g (float[2,3] x) => (float[2,3] y) { a = Relu(x) y = Exp(a) })");
  const int wrong = PartitionOf(*program, "Exp");
  ASSERT_EQ(program->partitions[wrong].chosen.nodes.size(), 2);
  auto& step = program->partitions[wrong].step;
  step = std::make_shared<Shifted>(step, 6);
  const auto checks = Check(*program, {kX});
  ASSERT_TRUE(checks.ok()) << checks.status();
  const PartitionCheck& check = (*checks)[0];
  EXPECT_EQ(check.partition, wrong);
  EXPECT_FALSE(check.ok());
  EXPECT_EQ(check.difference.largest, 0.5);
  EXPECT_EQ(check.figures.relative, 0.5);  // of exp(0)
  EXPECT_LT(check.figures.cosine, 1);
  ASSERT_EQ(check.ops.size(), 2);
  for (const OpCheck& op : check.ops) {
    EXPECT_EQ(op.engine, "kernel");
    EXPECT_EQ(op.check.not_compared, "");
    EXPECT_TRUE(op.check.ok()) << op.node->op();
  }
}

// 25552: the bits of 1000 in f16.
TEST_F(CheckPartitionsTest, WhatOverflowsInF16IsCountedWhereItHappensFirst) {
  const auto program = Build(R"(
      g (float16[3] x) => (float16[3] z) <float16[1] k = {25552}> {
        y = Mul(x, k)
        z = Softmax<axis = 0>(y) })");
  const HostTensor x =
      HostTensor::Of<Float16>(DType::kF16, {3}, {{ToFloat16(1), ToFloat16(100), ToFloat16(-3)}});
  const auto checks = Check(*program, {x});
  ASSERT_TRUE(checks.ok()) << checks.status();
  const int multiplies = PartitionOf(*program, "Mul");
  for (const PartitionCheck& check : *checks) {
    EXPECT_EQ(check.cost.overflowed > 0, check.partition == multiplies) << check.partition;
  }
}

TEST_F(CheckPartitionsTest, TheCostOfF16IsThatOfTheRounding) {
  const auto program = Build("g (float16[2] x) => (float16[2] y) { y = Exp(x) }");
  const HostTensor x = HostTensor::Of<Float16>(DType::kF16, {2}, {{ToFloat16(0), ToFloat16(1)}});
  const auto checks = Check(*program, {x});
  ASSERT_TRUE(checks.ok()) << checks.status();
  const ShortFloatCost& cost = checks->back().cost;
  EXPECT_GT(cost.share, 0);
  EXPECT_LE(cost.share, 0x1p-11);
  EXPECT_EQ(cost.overflowed, 0);
}

TEST_F(CheckPartitionsTest, AnErrorOfAnOpIsTheAnswer) {
  const auto program = Build(R"(
      g (float[2,3] x, int64[1] i) => (float[1,3] y) { y = Gather(x, i) })");
  const auto checks = Check(*program, {kX, HostTensor::Ints({7})});
  EXPECT_EQ(checks.status().code(), absl::StatusCode::kInvalidArgument) << checks.status();
}

}  // namespace
}  // namespace onnx_cudnn

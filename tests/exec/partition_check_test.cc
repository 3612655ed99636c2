#include "runtime/exec/partition_check.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/plan/reference_step.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class CheckPartitionsTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<PartitionCheck>> Check(const Program& program,
                                                    const std::vector<HostTensor>& inputs) {
    return CheckPartitions(program, inputs, /*tf32=*/false, *device_, constants_);
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

TEST_F(CheckPartitionsTest, AnErrorOfAnOpIsTheAnswer) {
  const auto program = Build(R"(
      g (float[2,3] x, int64[1] i) => (float[1,3] y) { y = Gather(x, i) })");
  const auto checks = Check(*program, {kX, HostTensor::Ints({7})});
  EXPECT_EQ(checks.status().code(), absl::StatusCode::kInvalidArgument) << checks.status();
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/session/engines.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

std::vector<std::string_view> EnginesOf(const Target& target) {
  std::vector<std::string_view> names;
  for (const Engine* engine : target.engines) names.push_back(engine->name());
  return names;
}

TEST(EnginesTest, TargetsHoldTheirEnginesInOrder) {
  using Names = std::vector<std::string_view>;
  absl::StatusOr<OwnedTarget> cpu = MakeTarget("cpu"), h200 = MakeTarget("h200");
  ASSERT_TRUE(cpu.ok());
  ASSERT_TRUE(h200.ok());
  EXPECT_EQ(EnginesOf(cpu->target), (Names{"view", "host"}));
  EXPECT_EQ(EnginesOf(h200->target), (Names{"view", "cudnn", "gemm", "kernel", "host"}));
}

TEST(EnginesTest, TargetsKnowTheirMemory) {
  EXPECT_GT(MakeTarget("cpu")->target.info.memory_bytes, int64_t{1} << 28);
  EXPECT_EQ(MakeTarget("h200")->target.info.memory_bytes, 150'109'880'320);
}

TEST(EnginesTest, UnknownTargetListsTheNames) {
  const absl::Status status = MakeTarget("h900").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown target \"h900\", expected one of: cpu, h200");
}

}  // namespace
}  // namespace onnx_cudnn

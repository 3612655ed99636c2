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
  EXPECT_EQ(EnginesOf(h200->target), (Names{"view", "cudnn", "gemm", "kernel", "custom", "host"}));
}

TEST(EnginesTest, TargetsKnowTheirMemory) {
  EXPECT_GT(MakeTarget("cpu")->target.info.memory_bytes, int64_t{1} << 28);
  EXPECT_EQ(MakeTarget("h200")->target.info.memory_bytes, 150'109'880'320);
}

TEST(EnginesTest, UnknownTargetListsTheNames) {
  const absl::Status status = MakeTarget("h900").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "unknown target \"h900\", expected one of: cpu, h200, h100, a100, a10, l4, rtx4090, "
            "b200");
}

TEST(EnginesTest, PublishedDevicesDescribeTheirPrices) {
  for (const std::string_view name : {"h100", "a100", "a10", "l4", "rtx4090", "b200"}) {
    const absl::StatusOr<OwnedTarget> owned = MakeTarget(name);
    ASSERT_TRUE(owned.ok()) << owned.status();
    EXPECT_EQ(owned->target.info.name, name);
    EXPECT_EQ(owned->target.info.prices,
              "rooflines of the peaks that NVIDIA publishes; nothing was measured on this GPU");
    EXPECT_EQ(EnginesOf(owned->target), EnginesOf(MakeTarget("h200")->target));
  }
  EXPECT_EQ(MakeTarget("h200")->target.info.prices, "");
}

TEST(EnginesTest, ATuringGpuIsRefusedWithTheReason) {
  EXPECT_EQ(MakeTarget("t4").status().message(),
            "target \"t4\": it has compute capability 7.5, and the runtime needs 8.0 or later: "
            "kernels copy by cp.async and compute in bf16");
}

TEST(EnginesTest, AGpuPosesAsALesserOne) {
  OwnedTarget owned = *MakeTarget("h200");
  ASSERT_TRUE(SetCapability(owned, 80).ok());
  EXPECT_EQ(owned.target.info.name,
            "h200 as 8.0");  // what was measured of the whole one is not its
  EXPECT_EQ(owned.target.info.compute_capability, 80);
  EXPECT_EQ(owned.target.info.shared_bytes_per_block, 163 << 10);
  EXPECT_EQ(owned.target.info.bytes_per_us, MakeTarget("h200")->target.info.bytes_per_us);
}

TEST(EnginesTest, NoGpuPosesAsMoreThanItIs) {
  const auto error = [](std::string_view target, int capability) {
    OwnedTarget owned = *MakeTarget(target);
    return std::string(SetCapability(owned, capability).message());
  };
  EXPECT_EQ(error("h200", 90), "");
  EXPECT_EQ(error("h200", 100),
            "compute capability 10.0, expected one from 8.0 to 9.0, that of h200");
  EXPECT_EQ(error("l4", 75), "compute capability 7.5, expected one from 8.0 to 8.9, that of l4");
  EXPECT_EQ(error("cpu", 80), "compute capability 8.0: cpu is no GPU");
}

}  // namespace
}  // namespace onnx_cudnn

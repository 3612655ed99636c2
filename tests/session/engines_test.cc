#include "runtime/engines.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

TEST(EnginesTest, CpuTargetHoldsEveryEngineInOrder) {
  const EngineList engines = MakeEngines();
  const absl::StatusOr<Target> target = MakeTarget("cpu", engines);
  ASSERT_TRUE(target.ok());
  ASSERT_EQ(target->engines.size(), engines.size());
  EXPECT_EQ(target->engines[0]->name(), "view");
  EXPECT_EQ(target->engines[1]->name(), "host");
}

TEST(EnginesTest, UnknownTargetListsTheNames) {
  const absl::Status status = MakeTarget("h900", MakeEngines()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown target \"h900\", expected one of: cpu");
}

}  // namespace
}  // namespace onnx_cudnn

// The explanation of the Program behind a Run.
#include "runtime/session/explain_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

using Names = std::vector<std::string>;

TEST(ExplainRunTest, HasTheStepsOfTheRun) {
  const std::vector<float> numbers = {1, 2, 3, 4};
  const std::vector<NamedView> inputs = {View(numbers.data(), {1, 2, 2})};
  const auto session = SessionMaker::Make(R"(
      g (float[N,2,2] x) => (float y) {
        a = Exp(x)
        d = DFT(a)
        y = Neg(d)
      })",
                                          {});
  ASSERT_TRUE(session.ok()) << session.status();
  auto profiled = session->Profile(inputs, {.runs = 1});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  const auto explained = SessionExplainer::Explain(*session, inputs);
  ASSERT_TRUE(explained.ok()) << explained.status();
  std::vector<Names> ran, told;
  for (const ProfiledStep& step : profiled.value().steps) ran.push_back(step.nodes);
  for (const PartitionReport& p : explained->partitions) {
    if (p.launches) told.push_back(p.nodes);
  }
  std::sort(ran.begin(), ran.end());
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, ran);
  // DFT runs on the host: what moves its operands there is a step, and none of the cover.
  EXPECT_EQ(explained->formats.size(), 2u);
  EXPECT_EQ(explained->edges.size(), 2u);
  EXPECT_FALSE(explained->memory.live_bytes.empty());
}

TEST(ExplainRunTest, RefusesSegments) {
  const float numbers[] = {1, 0};
  const auto session = SessionMaker::Make(R"(
      g (float[N] x) => (float[1,M] y) {
        found = NonZero(x)
        y = Cast<to = 1>(found)
      })",
                                          {});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto explained = SessionExplainer::Explain(*session, {View(numbers, {2})});
  EXPECT_TRUE(absl::IsUnimplemented(explained.status())) << explained.status();
}

}  // namespace
}  // namespace onnx_cudnn

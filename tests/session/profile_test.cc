// Session::Profile.
#include "onnx_cudnn/profile.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/session/shifted_relu.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

// A view between two steps; tensors of 64 floats.
constexpr std::string_view kSteps = R"(
    g (float[N,8] x) => (float[8,N] y) <int64[2] turned = {8, -1}> {
      a = Exp(x)
      b = Reshape(a, turned)
      y = Tanh(b)
    })";
constexpr int64_t kTensorBytes = 64 * 4;

// Strings are made and read between two Programs.
constexpr std::string_view kCut = R"(
    g (float[64] x) => (float[64] y) {
      a = Exp(x)
      t = Cast<to = 8>(a)
      b = Cast<to = 1>(t)
      y = Neg(b)
    })";

const std::vector<float>& Numbers() {
  static const auto& numbers = *new std::vector<float>(64, 0.5f);
  return numbers;
}

void ExpectAddsUp(const RunProfile& profile, size_t runs) {
  double share = 0, sum_us = 0;
  for (const ProfiledStep& step : profile.steps) {
    EXPECT_GT(step.us, 0);
    EXPECT_GT(step.floor_us, 0);
    EXPECT_DOUBLE_EQ(step.of_floor(), step.floor_us / step.us);
    share += step.share;
    sum_us += step.us;
  }
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_NEAR(sum_us, profile.steps_us, 1e-9 * sum_us);
  EXPECT_GT(profile.run_us, 0);
  EXPECT_EQ(profile.runs.size(), 2 + runs);
  for (const ProfiledRun& run : profile.runs) EXPECT_EQ(run.steps.size(), profile.steps.size());
}

TEST(ProfileTest, NamesAndTimesEachStepOnTheCpuDevice) {
  const Session session = LoadText(kSteps, {.device = DeviceChoice::kCpu});
  auto profiled = session.Profile({View(Numbers().data(), {8, 8})}, {.runs = 5});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  const RunProfile& profile = profiled.value();
  ASSERT_EQ(profile.steps.size(), 2u);  // the view launches nothing
  EXPECT_EQ(profile.steps[0].nodes, std::vector<std::string>{"a"});
  EXPECT_EQ(profile.steps[0].ops, std::vector<std::string>{"Exp"});
  EXPECT_EQ(profile.steps[1].nodes, std::vector<std::string>{"y"});
  EXPECT_EQ(profile.steps[1].engine, "host");
  EXPECT_EQ(profile.steps[1].bytes, 2 * kTensorBytes);
  EXPECT_DOUBLE_EQ(profile.steps[1].gb_per_s(), 2e-3 * kTensorBytes / profile.steps[1].us);
  ExpectAddsUp(profile, 5);
  EXPECT_FALSE(profile.is_captured);
  EXPECT_EQ(profile.bytes_in, 0);
  EXPECT_EQ(profile.streams, 1);
}

TEST(ProfileTest, TimesReplaysAndCopiesWhereRunsAreCaptured) {
  const auto session = SessionMaker::Make(kSteps, {});
  ASSERT_TRUE(session.ok()) << session.status();
  auto profiled = session->Profile({View(Numbers().data(), {8, 8})}, {.runs = 3});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  const RunProfile& profile = profiled.value();
  EXPECT_TRUE(profile.is_captured) << profile.graph_note;
  EXPECT_EQ(profile.bytes_in, kTensorBytes);
  EXPECT_EQ(profile.bytes_out, kTensorBytes);
  EXPECT_GT(profile.copy_in_us, 0);
  EXPECT_FALSE(profile.runs[0].is_replay);
  EXPECT_TRUE(profile.runs[4].is_replay);
  ExpectAddsUp(profile, 3);
}

TEST(ProfileTest, WithoutCudaGraphsItTimesLaunches) {
  const auto session = SessionMaker::Make(kSteps, {.cuda_graph = false});
  ASSERT_TRUE(session.ok()) << session.status();
  auto profiled = session->Profile({View(Numbers().data(), {8, 8})}, {.runs = 1});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  EXPECT_FALSE(profiled.value().is_captured);
  const RunProfile& profile = profiled.value();
  EXPECT_FALSE(profile.runs[2].is_replay);
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    EXPECT_EQ(profile.steps[i].us, profile.runs[2].steps[i].us);  // the two before it warm up
  }
  ExpectAddsUp(profile, 1);
}

TEST(ProfileTest, SaysWhatItCannotTime) {
  const Session session = LoadText(kSteps, {.device = DeviceChoice::kCpu});
  ExpectError(session.Profile({View(Numbers().data(), {8, 8})}, {.runs = 0}),
              ErrorCode::kInvalidArgument, "expected 1 run or more, found 0");
  ExpectError(session.Profile({View(Numbers().data(), {4, 4})}), ErrorCode::kInvalidArgument, "x");
  const Session segments = LoadText(kCut, {.device = DeviceChoice::kCpu});
  ExpectError(segments.Profile({View(Numbers().data(), {64})}, {.runs = 0}),
              ErrorCode::kInvalidArgument, "expected 1 run or more, found 0");
}

// Each step with the run of a Program that it is of, copies left out.
std::vector<std::string> Order(const RunProfile& profile) {
  std::vector<std::string> order;
  for (const ProfiledStep& step : profile.steps) {
    if (step.engine == "copy") continue;
    order.push_back(absl::StrCat(step.segment, step.index < 0 ? " between " : " ", step.ops[0]));
  }
  return order;
}

const std::vector<std::string> kCutOrder = {"0 Exp", "1 between Cast", "1 between Cast", "1 Neg"};

void ExpectIsOfSegments(const RunProfile& profile, size_t runs) {
  EXPECT_EQ(profile.segments, 2);
  EXPECT_EQ(Order(profile), kCutOrder);
  EXPECT_EQ(profile.runs.size(), 2 + runs);
  double sum_us = 0;
  for (const ProfiledStep& step : profile.steps) {
    EXPECT_GT(step.us, 0) << step.nodes[0];
    sum_us += step.us;
  }
  EXPECT_NEAR(sum_us, profile.steps_us, 1e-9 * sum_us);
  EXPECT_GT(profile.run_us, 0);
  for (const ProfiledRun& run : profile.runs) {
    ASSERT_EQ(run.steps.size(), profile.steps.size());
    double end_us = 0;  // what is between Programs and what follows it come after the others
    for (size_t i = 0; i < run.steps.size(); ++i) {
      const ProfiledStep& step = profile.steps[i];
      if (step.engine == "copy") continue;
      EXPECT_GE(run.steps[i].begin_us, end_us - 1e-3) << step.nodes[0];
      end_us = run.steps[i].begin_us + run.steps[i].us;
    }
  }
}

TEST(ProfileTest, TimesTheProgramsOfSegmentsAndWhatIsBetweenThem) {
  const Session session = LoadText(kCut, {.device = DeviceChoice::kCpu});
  auto profiled = session.Profile({View(Numbers().data(), {64})}, {.runs = 3});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  ExpectIsOfSegments(profiled.value(), 3);
  EXPECT_FALSE(profiled.value().is_captured);
}

TEST(ProfileTest, SegmentsThatAreCapturedAreReplayed) {
  const auto session = SessionMaker::Make(kCut, {});
  ASSERT_TRUE(session.ok()) << session.status();
  auto profiled = session->Profile({View(Numbers().data(), {64})}, {.runs = 3});
  ASSERT_TRUE(profiled.ok()) << profiled.error().message;
  const RunProfile& profile = profiled.value();
  EXPECT_TRUE(profile.is_captured) << profile.graph_note;
  EXPECT_TRUE(profile.runs.back().is_replay);
  EXPECT_EQ(Order(profile), kCutOrder);
}

}  // namespace
}  // namespace onnx_cudnn

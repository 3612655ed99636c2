// Sessions of models whose branches are chosen by an input.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "onnx_cudnn/session.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// As a voice-activity model: the rate of the samples chooses a network, and an inner If squeezes
// what happens to be one frame. Each network fits samples of its own rate alone.
constexpr std::string_view kVoice = R"(
    g (float[1,1,SAMPLES] x, int64 rate) => (float[F] y) <int64 high = {16000}, int64 axis = {2},
        int64 one = {1}, int64[2] front = {0, 1}, int64[3] all = {0, 1, 2}>
    { is_high = Equal(rate, high)
      y = If(is_high) <
        then_branch = wide () => (a) <float[1,1,6] w6 = {1, 1, 1, 1, 1, 1}> {
          f = Conv(x, w6)
          s = Shape(f)
          n = Gather(s, axis)
          is_one = Equal(n, one)
          a = If(is_one) <
            then_branch = single () => (p) { t = Squeeze(f, all) p = Unsqueeze(t, zero) },
            else_branch = several () => (q) { q = Squeeze(f, front) }> },
        else_branch = narrow () => (b) <float[1,1,3] w3 = {1, 1, 1}> {
          g = Conv<strides = [2]>(x, w3)
          b = Squeeze(g, front) }> })";

std::string Voice(std::string_view samples) {
  return absl::StrReplaceAll(
      kVoice, {{"SAMPLES", samples}, {"int64 one = {1}", "int64 one = {1}, int64[1] zero = {0}"}});
}

Result<std::vector<float>> RunVoice(const Session& session, std::vector<float> samples,
                                    int64_t rate) {
  const auto count = static_cast<int64_t>(samples.size());
  auto outputs = session.Run({View(samples.data(), {1, 1, count}), View(&rate, {})});
  if (!outputs.ok()) return outputs.error();
  const Tensor& y = outputs.value()[0];
  return std::vector<float>(y.data<float>(), y.data<float>() + y.elements());
}

Session LoadVoice(std::string_view samples, const std::string& target) {
  Result<Session> session =
      Session::LoadBytes(ModelBytesFromText(Voice(samples)).value(), {.target = target});
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message);
  return std::move(session).value();
}

TEST(ConditionTest, TakesTheBranchThatTheInputChooses) {
  for (const char* target : {"cpu", "h200"}) {
    const Session session = LoadVoice("N", target);
    EXPECT_EQ(RunVoice(session, {1, 2, 3, 4, 5, 6, 7}, 16000).value(),
              (std::vector<float>{21, 27}));
    EXPECT_EQ(RunVoice(session, {1, 2, 3, 4, 5, 6}, 16000).value(), (std::vector<float>{21}));
    EXPECT_EQ(RunVoice(session, {1, 2, 3, 4, 5}, 8000).value(), (std::vector<float>{6, 12}));
    EXPECT_EQ(session.stats().programs_built, 3);
  }
}

TEST(ConditionTest, LoadsThoughABranchDoesNotFitItsSamples) {  // 5 samples
  for (const char* target : {"cpu", "h200"}) {
    const Session session = LoadVoice("5", target);
    EXPECT_EQ(RunVoice(session, {1, 2, 3, 4, 5}, 8000).value(), (std::vector<float>{6, 12}));
    const auto high = RunVoice(session, {1, 2, 3, 4, 5}, 16000);
    ExpectError(high, ErrorCode::kInvalidArgument, "(Conv): its window of 6");
  }
}

TEST(ConditionTest, RunsAtEveryLevel) {
  for (int level : {0, 1, 2}) {
    const Session session =
        Session::LoadBytes(ModelBytesFromText(Voice("5")).value(), {.optimization_level = level})
            .value();
    EXPECT_EQ(RunVoice(session, {1, 2, 3, 4, 5}, 8000).value(), (std::vector<float>{6, 12}));
  }
}

TEST(ConditionTest, BindsAnew) {
  const Session session = LoadVoice("N", "cpu");
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7}, y(3);
  int64_t rate = 8000;
  auto binding = session.Bind({View(x.data(), {1, 1, 7}), View(&rate, {})}, {View(y.data(), {3})});
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  EXPECT_TRUE(binding.value().Run().ok());
  EXPECT_EQ(y, (std::vector<float>{6, 12, 18}));
  rate = 16000;
  EXPECT_EQ(binding.value().Run().error().code, ErrorCode::kFailedPrecondition);
}

// What decides is computed; the other branch does not fit the shapes and is not taken.
TEST(ConditionTest, RunsTheBranchThatFitsWhereTheRunDecides) {
  const Session session = Session::LoadBytes(ModelBytesFromText(R"(
      g (float[2,4] x) => (y) <float zero = {0}, int64[1] first = {0}>
      { s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        y = If(c) < then_branch = t () => (u) { u = Squeeze(x, first) },
                    else_branch = e () => (v) { v = Neg(x) }> })")
                                                 .value())
                              .value();
  std::vector<float> x(8, -1);
  const auto run = session.Run({View(x.data(), {2, 4})});
  ASSERT_TRUE(run.ok()) << run.error().message;
  x.assign(8, 1);
  ExpectError(session.Run({View(x.data(), {2, 4})}), ErrorCode::kInvalidArgument, "(Squeeze)");
}

}  // namespace
}  // namespace onnx_cudnn

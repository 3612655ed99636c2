// When a Tuner stops: its budget and the end of its time.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/tune/tuner.h"
#include "tests/support/late_engine.h"

namespace onnx_cudnn {
namespace {

constexpr double kEnough = 60;

class TunerBudgetTest : public testing::Test {
 protected:
  Graph graph_;
  Target target_;
  const std::unique_ptr<Device> device_ = MakeCpuDevice();
  const std::unique_ptr<PlanCache> cache_ = *PlanCache::Open("");
};

// Relus of as many sizes, for `engine`.
std::vector<Candidate> Relus(Graph& graph, int count, const Engine& engine, const Target& target) {
  std::vector<Candidate> candidates;
  for (int i = 1; i <= count; ++i) {
    const Type type = Type::Tensor(DType::kF32, {i});
    Node& node = graph.AddNode({.op = "Relu", .inputs = {&graph.AddInput("x", type)}});
    graph.SetType(node.output(0), type);
    graph.AddOutput("y", node.output(0));
    candidates.push_back(RowMajorCandidate(engine, node, Space::kDevice, target));
  }
  return candidates;
}

std::vector<const Candidate*> All(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> all;
  for (const Candidate& candidate : candidates) all.push_back(&candidate);
  return all;
}

int Measured(const std::vector<Choice>& choices) {
  return static_cast<int>(std::count_if(choices.begin(), choices.end(),
                                        [](const Choice& c) { return c.us.has_value(); }));
}

TEST_F(TunerBudgetTest, StopsWhenTheBudgetEnds) {
  const LateEngine engine("fake", {{.ms = 2}, {.ms = 2}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 20, engine, target_);
  Tuner tuner(target_, *device_, *cache_, {.budget_s = 0.01});
  const absl::StatusOr<std::vector<Choice>> choices = tuner.Choose(All(candidates));
  ASSERT_TRUE(choices.ok()) << choices.status();
  const int measured = Measured(*choices);
  EXPECT_GE(measured, 1);
  EXPECT_LE(measured, 8);  // those that were being timed
  EXPECT_TRUE(tuner.RanOut());
  EXPECT_LE(engine.compiled, 2 * 8);  // the others are left to a call that measures nothing
  for (const Choice& choice : *choices) {
    EXPECT_NE(choice.compiled.step() == nullptr, !choice.is_left_out);
    EXPECT_FALSE(choice.is_left_out && choice.us.has_value());
  }
  const absl::StatusOr<std::vector<Choice>> again = tuner.Choose(All(candidates));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Measured(*again), measured);
  for (const Choice& choice : *again) {
    EXPECT_NE(choice.compiled.step(), nullptr);
    EXPECT_FALSE(choice.is_left_out);
  }
}

// 32 Variants that take 0.2 s each: more than up to eight threads compile within the budget.
TEST_F(TunerBudgetTest, VariantsForWhichThereIsNoTimeAreLeftToALaterTuner) {
  const LateVariant slow{.ms = 1, .compile_ms = 200};
  const LateEngine engine("fake", {slow, slow, slow, slow});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 8, engine, target_);
  Tuner tuner(target_, *device_, *cache_, {.budget_s = 0.6});
  const absl::StatusOr<std::vector<Choice>> choices = tuner.Choose(All(candidates));
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_GE(Measured(*choices), 1);
  EXPECT_LT(engine.compiled, 4 * 8);
  EXPECT_LT(tuner.stats().variants, 4 * 8);
  EXPECT_FALSE(tuner.Knows(All(candidates)));
  Tuner later(target_, *device_, *cache_, {.budget_s = kEnough});
  ASSERT_TRUE(later.Choose(All(candidates)).ok());
  EXPECT_EQ(later.stats().variants, 4 * 8);
  EXPECT_TRUE(later.Knows(All(candidates)));
  Tuner cached(target_, *device_, *cache_, {});
  ASSERT_TRUE(cached.Choose(All(candidates)).ok());
  EXPECT_EQ(cached.stats().hits, 8);
}

TEST_F(TunerBudgetTest, WhereItsTimeIsOverACallLeavesOutWhatItHasNotCompiled) {
  const LateEngine engine("fake", {{.ms = 1}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 12, engine, target_);
  Tuner tuner(target_, *device_, *cache_, {.budget_s = kEnough, .until = absl::InfinitePast()});
  const absl::StatusOr<std::vector<Choice>> choices = tuner.Choose(All(candidates));
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_EQ(Measured(*choices), 1);  // something is
  EXPECT_TRUE(choices->back().is_left_out);
  EXPECT_TRUE(tuner.RanOut());
  EXPECT_NE((*tuner.Choose(All(candidates))).back().compiled.step(), nullptr);
}

// Its second batch of eight would take as long as the first.
TEST_F(TunerBudgetTest, TimingEndsWithinABatch) {
  const LateEngine engine("fake", {{.ms = 20}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 16, engine, target_);
  const std::unique_ptr<PlanCache> other = *PlanCache::Open("");
  Tuner first(target_, *device_, *other, {.budget_s = kEnough});
  const std::vector<const Candidate*> all = All(candidates);
  ASSERT_TRUE(first.Choose(absl::MakeConstSpan(all).first(8)).ok());
  const double each_s = first.stats().seconds / 8;
  Tuner tuner(target_, *device_, *cache_,
              {.budget_s = kEnough, .until = absl::Now() + absl::Seconds(9.5 * each_s)});
  const absl::StatusOr<std::vector<Choice>> choices = tuner.Choose(all);
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_GE(Measured(*choices), 8);
  EXPECT_LT(Measured(*choices), 16);
  EXPECT_TRUE(tuner.RanOut());
}

TEST_F(TunerBudgetTest, FirstVariantsEndInTime) {
  const LateEngine engine("fake", {{.compile_ms = 1}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 4, engine, target_);
  const Tuner tuner(target_, *device_, *cache_, {});
  EXPECT_TRUE(absl::IsDeadlineExceeded(tuner.First(All(candidates), absl::Now()).status()));
  EXPECT_EQ(engine.compiled, 0);
  EXPECT_TRUE(tuner.First(All(candidates)).ok());
  EXPECT_EQ(engine.compiled, 4);
}

// A first batch took long: the rest of the budget seems to suffice for one signature.
TEST_F(TunerBudgetTest, NearTheEndOfTheBudgetSeveralSignaturesCompileSideBySide) {
  const LateEngine engine("fake", {{.ms = 80}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 12, engine, target_);
  constexpr double kLeftS = 0.5;
  std::vector<int64_t> batches;
  Tuner* running = nullptr;
  const auto note = [&](int64_t done, int64_t) {
    batches.push_back(done);
    if (batches.size() > 1) return;
    const double seconds = running->stats().seconds;
    EXPECT_LT(static_cast<double>(done) * kLeftS / seconds, 2);
    running->AddBudget(seconds + kLeftS - kEnough);
  };
  Tuner tuner(target_, *device_, *cache_, {.budget_s = kEnough, .observer = {.progress = note}});
  running = &tuner;
  ASSERT_TRUE(tuner.Choose(All(candidates)).ok());
  ASSERT_GE(batches.size(), 2u);
  EXPECT_GT(batches[1] - batches[0], 1);
}

}  // namespace
}  // namespace onnx_cudnn

// The Tuner over the CPU device and an Engine with Variants of known duration.
#include "runtime/tune/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "runtime/exec/cpu_device.h"
#include "tests/support/late_engine.h"

namespace onnx_cudnn {
namespace {

class TunerTest : public testing::Test {
 protected:
  TunerTest() : device_(MakeCpuDevice()), cache_(*PlanCache::Open("")) {
    const Type type = Type::Tensor(DType::kF32, {4, 25});
    node_ = &graph_.AddNode({.op = "Relu", .inputs = {&graph_.AddInput("x", type)}});
    graph_.SetType(node_->output(0), type);
    graph_.AddOutput("y", node_->output(0));
  }

  // The choice of a Tuner over `engine` (and `more`).
  Choice Choose(const LateEngine& engine, double budget_s, std::vector<const Engine*> more = {}) {
    target_.engines = {&engine};
    target_.engines.insert(target_.engines.end(), more.begin(), more.end());
    tuner_ = std::make_unique<Tuner>(target_, *device_, *cache_,
                                     TunerOptions{.budget_s = budget_s, .observer = observer_});
    const Candidate candidate = RowMajorCandidate(engine, *node_, Space::kDevice, target_);
    signature_ = Signature(candidate, target_);
    const Candidate* asked[] = {&candidate};
    auto choices = tuner_->Choose(asked);
    EXPECT_TRUE(choices.ok()) << choices.status();
    return choices.ok() ? (*choices)[0] : Choice();
  }
  // Stores a failure for the last signature.
  void PutFailed(const std::string& variant, const std::string& how) const {
    cache_->PutFailed({.device = target_.info.name,
                       .signature = signature_,
                       .engine = "fake",
                       .variant = variant,
                       .how = how,
                       .engine_version = "7",
                       .date = "2026-11-22"});
  }
  std::string Notes() const { return absl::StrJoin(tuner_->stats().notes, "\n"); }

  Graph graph_;
  Node* node_;
  Target target_;
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<PlanCache> cache_;
  std::unique_ptr<Tuner> tuner_;
  std::string signature_;
  TuneObserver observer_;
};

constexpr double kPlenty = 60;

TEST_F(TunerTest, TakesTheFastestVariant) {
  const LateEngine engine("fake", {{.ms = 40}, {.ms = 1}, {.ms = 20}});
  const Choice choice = Choose(engine, kPlenty);
  EXPECT_EQ(choice.variant.text, "1");
  ASSERT_NE(choice.compiled.step(), nullptr);
  EXPECT_GE(*choice.us, 1000);
  EXPECT_LT(*choice.us, 20000);
  EXPECT_EQ(tuner_->MeasuredUs(signature_), choice.us);
  const TunerStats stats = tuner_->stats();
  EXPECT_EQ(stats.signatures, 1);
  EXPECT_EQ(stats.variants, 3);
  EXPECT_EQ(stats.hits, 0);
  EXPECT_GT(stats.seconds, 0.06);
  EXPECT_EQ(Notes(), "");
}

TEST_F(TunerTest, NotesWhatItMeasured) {
  const LateEngine engine("fake", {{.ms = 1, .workspace_bytes = 64}});
  const Choice choice = Choose(engine, kPlenty);
  const auto entry = cache_->Find(target_.info.name, signature_);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->engine, "fake");
  EXPECT_EQ(entry->variant, "0");
  EXPECT_EQ(entry->us, *choice.us);
  EXPECT_EQ(entry->workspace_bytes, 64);
  EXPECT_TRUE(entry->checked);
  EXPECT_EQ(entry->engine_version, "7");
  EXPECT_EQ(entry->date.size(), 10u);
}

TEST_F(TunerTest, AWrongVariantDoesNotWin) {
  const LateEngine engine("fake", {{.ms = 40}, {.ms = 1, .off = 0.25}, {.ms = 20}});
  const Choice choice = Choose(engine, kPlenty);
  EXPECT_EQ(choice.variant.text, "2");
  EXPECT_TRUE(absl::StrContains(Notes(), "fake node (Relu) 1: output 0 differs by 0.25"))
      << Notes();
}

TEST_F(TunerTest, AWrongVariantOfManyElementsDoesNotWin) {  // checked on all threads
  const Type type = Type::Tensor(DType::kF32, {3, 1000001});
  node_ = &graph_.AddNode({.op = "Relu", .inputs = {&graph_.AddInput("many", type)}});
  graph_.SetType(node_->output(0), type);
  graph_.AddOutput("z", node_->output(0));
  const LateEngine engine("fake", {{.ms = 40, .off = 0.25}, {.ms = 80}});
  EXPECT_EQ(Choose(engine, kPlenty).variant.text, "1");
  EXPECT_TRUE(absl::StrContains(Notes(), ": 3000003 of 3000003 elements")) << Notes();
}

TEST_F(TunerTest, RefusesWhatIsWrongInEveryVariant) {
  const LateEngine engine("fake", {{.off = 1}, {.off = 2}});
  const Choice choice = Choose(engine, kPlenty);
  EXPECT_EQ(choice.compiled.step(), nullptr);
  EXPECT_TRUE(absl::StrContains(choice.compiled.reason(), "differs by"))
      << choice.compiled.reason();
  EXPECT_FALSE(choice.us.has_value());
  EXPECT_FALSE(tuner_->MeasuredUs(signature_).has_value());
}

TEST_F(TunerTest, VariantsThatFailOrAreRefusedAreOut) {
  const LateEngine engine("fake", {{.fails = true}, {.refused = true}, {.ms = 2}});
  EXPECT_EQ(Choose(engine, kPlenty).variant.text, "2");
}

TEST_F(TunerTest, ACachedVariantThatCompilesNoMoreIsNoHit) {
  const LateEngine engine("fake", {{.ms = 40}, {.ms = 1}});
  EXPECT_EQ(Choose(engine, kPlenty).variant.text, "1");
  const LateEngine newer("fake", {{.ms = 40}, {.refused = true}});
  const Choice choice = Choose(newer, 0);
  EXPECT_EQ(choice.variant.text, "0");
  EXPECT_FALSE(choice.us.has_value());
  EXPECT_EQ(tuner_->stats().hits, 0);
}

TEST_F(TunerTest, ReportsWhyNoneIsLeft) {
  const LateEngine engine("fake", {{.refused = true}, {.fails = true}});
  const Choice choice = Choose(engine, kPlenty);
  EXPECT_EQ(choice.compiled.step(), nullptr);
  EXPECT_EQ(choice.compiled.reason(), "it broke");
}

TEST_F(TunerTest, WithoutBudgetTheFirstThatCompilesIsTaken) {
  const LateEngine engine("fake", {{.refused = true}, {.ms = 40}, {.ms = 1}});
  const Choice choice = Choose(engine, 0);
  EXPECT_EQ(choice.variant.text, "1");
  EXPECT_FALSE(choice.us.has_value());
  EXPECT_EQ(engine.compiled, 2);
  EXPECT_EQ(tuner_->stats().signatures, 0);
}

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

TEST_F(TunerTest, StopsWhenTheBudgetEnds) {
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
TEST_F(TunerTest, VariantsForWhichThereIsNoTimeAreLeftToALaterTuner) {
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
  Tuner later(target_, *device_, *cache_, {.budget_s = kPlenty});
  ASSERT_TRUE(later.Choose(All(candidates)).ok());
  EXPECT_EQ(later.stats().variants, 4 * 8);
  EXPECT_TRUE(later.Knows(All(candidates)));
  Tuner cached(target_, *device_, *cache_, {});
  ASSERT_TRUE(cached.Choose(All(candidates)).ok());
  EXPECT_EQ(cached.stats().hits, 8);
}

TEST_F(TunerTest, WhereItsTimeIsOverACallLeavesOutWhatItHasNotCompiled) {
  const LateEngine engine("fake", {{.ms = 1}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 12, engine, target_);
  Tuner tuner(target_, *device_, *cache_, {.budget_s = kPlenty, .until = absl::InfinitePast()});
  const absl::StatusOr<std::vector<Choice>> choices = tuner.Choose(All(candidates));
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_EQ(Measured(*choices), 1);  // something is
  EXPECT_TRUE(choices->back().is_left_out);
  EXPECT_TRUE(tuner.RanOut());
  EXPECT_NE((*tuner.Choose(All(candidates))).back().compiled.step(), nullptr);
}

// Its second batch of eight would take as long as the first.
TEST_F(TunerTest, TimingEndsWithinABatch) {
  const LateEngine engine("fake", {{.ms = 20}});
  target_.engines = {&engine};
  const std::vector<Candidate> candidates = Relus(graph_, 16, engine, target_);
  const std::unique_ptr<PlanCache> other = *PlanCache::Open("");
  Tuner first(target_, *device_, *other, {.budget_s = kPlenty});
  const std::vector<const Candidate*> all = All(candidates);
  ASSERT_TRUE(first.Choose(absl::MakeConstSpan(all).first(8)).ok());
  const double each_s = first.stats().seconds / 8;
  Tuner tuner(target_, *device_, *cache_,
              {.budget_s = kPlenty, .until = absl::Now() + absl::Seconds(9.5 * each_s)});
  const absl::StatusOr<std::vector<Choice>> choices = tuner.Choose(all);
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_GE(Measured(*choices), 8);
  EXPECT_LT(Measured(*choices), 16);
  EXPECT_TRUE(tuner.RanOut());
}

TEST_F(TunerTest, FirstVariantsEndInTime) {
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
TEST_F(TunerTest, NearTheEndOfTheBudgetSeveralSignaturesCompileSideBySide) {
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
    running->AddBudget(seconds + kLeftS - kPlenty);
  };
  Tuner tuner(target_, *device_, *cache_, {.budget_s = kPlenty, .observer = {.progress = note}});
  running = &tuner;
  ASSERT_TRUE(tuner.Choose(All(candidates)).ok());
  ASSERT_GE(batches.size(), 2u);
  EXPECT_GT(batches[1] - batches[0], 1);
}

TEST_F(TunerTest, TakesFromTheCacheWithoutMeasuring) {
  const LateEngine engine("fake", {{.ms = 40}, {.ms = 1}});
  const Choice measured = Choose(engine, kPlenty);
  engine.compiled = 0;
  const Choice known = Choose(engine, 0);
  EXPECT_EQ(known.variant.text, "1");
  EXPECT_EQ(known.us, measured.us);
  EXPECT_EQ(engine.compiled, 1);
  EXPECT_EQ(tuner_->stats().hits, 1);
  EXPECT_EQ(tuner_->stats().signatures, 0);
}

TEST_F(TunerTest, LoadsWhatWasSavedAndBuildsNothingTwice) {
  const LateEngine engine("fake", {{.ms = 1, .saved = "saved"}});
  Choose(engine, kPlenty);
  EXPECT_EQ(cache_->Find(target_.info.name, signature_)->saved, "saved");
  engine.compiled = 0;
  EXPECT_NE(Choose(engine, 0).compiled.step(), nullptr);
  EXPECT_EQ(engine.loaded, 1);
  EXPECT_EQ(engine.compiled, 0);
  EXPECT_EQ(tuner_->stats().hits, 1);
  PlanEntry entry = *cache_->Find(target_.info.name, signature_);
  entry.saved = "no such";
  cache_->Put(entry);
  EXPECT_NE(Choose(engine, 0).compiled.step(), nullptr);
  EXPECT_EQ(engine.loaded, 1);
  EXPECT_EQ(engine.compiled, 1);
}

TEST_F(TunerTest, LeavesOutWhatHungOrCrashed) {
  const LateEngine engine("fake", {{.ms = 40}, {.ms = 1}, {.ms = 20}});
  Choose(engine, 0);  // for the signature
  PutFailed("1", kHung);
  engine.compiled = 0;
  EXPECT_EQ(Choose(engine, kPlenty).variant.text, "2");
  EXPECT_EQ(engine.compiled, 2);
  EXPECT_EQ(Notes(), "fake node (Relu) 1: left out: it hung when it was tuned on 2026-11-22");
}

TEST_F(TunerTest, WithoutBudgetItLeavesOutWhatCrashedToo) {
  const LateEngine engine("fake", {{.ms = 1}, {.ms = 1}});
  Choose(engine, 0);
  PutFailed("0", kCrashed);
  engine.compiled = 0;
  EXPECT_EQ(Choose(engine, 0).variant.text, "1");
  EXPECT_EQ(engine.compiled, 1);
}

TEST_F(TunerTest, WhatIsWrongOnceIsNotTakenUncheckedLater) {
  const LateEngine engine("fake", {{.off = 1}, {.fails = true}});
  EXPECT_EQ(Choose(engine, kPlenty).compiled.step(), nullptr);
  const Choice later = Choose(engine, 0);
  EXPECT_EQ(later.compiled.step(), nullptr);
  EXPECT_TRUE(absl::StrContains(later.compiled.reason(), "was refused when it was tuned on"))
      << later.compiled.reason();
  std::vector<std::string> how;
  for (const FailedVariant& failed : cache_->Failed(target_.info.name, signature_)) {
    how.push_back(absl::StrCat(failed.variant, " ", failed.how));
  }
  EXPECT_EQ(how, (std::vector<std::string>{" was refused", "0 was wrong", "1 failed"}));
}

TEST_F(TunerTest, KnowsSignaturesThatItHasMeasured) {
  const LateEngine good("fake", {{.ms = 1}}), bad("fake", {{.refused = true}});
  for (const LateEngine* engine : {&good, &bad}) {
    const std::unique_ptr<PlanCache> cache = *PlanCache::Open("");
    target_.engines = {engine};
    Tuner tuner(target_, *device_, *cache, TunerOptions{.budget_s = kPlenty});
    const Candidate candidate = RowMajorCandidate(*engine, *node_, Space::kDevice, target_);
    const Candidate* asked[] = {&candidate};
    EXPECT_FALSE(tuner.Knows(asked));
    EXPECT_TRUE(tuner.Choose(asked).ok());
    EXPECT_TRUE(tuner.Knows(asked));
  }
}

TEST_F(TunerTest, ReportsEachTrialToItsObserver) {
  const LateEngine engine("fake", {{.ms = 1}, {.fails = true}});
  absl::Mutex mutex;
  std::vector<std::string> variants;
  std::vector<int64_t> open;
  std::string progress;
  observer_ = {.trying =
                   [&](int64_t id, const FailedVariant& what) {
                     absl::MutexLock lock(mutex);
                     EXPECT_EQ(what.engine, "fake");
                     EXPECT_FALSE(what.signature.empty());
                     variants.push_back(what.variant);
                     open.push_back(id);
                   },
               .tried =
                   [&](int64_t id) {
                     absl::MutexLock lock(mutex);
                     EXPECT_EQ(std::erase(open, id), 1u);
                   },
               .progress = [&](int64_t done,
                               int64_t total) { absl::StrAppend(&progress, done, "/", total); }};
  Choose(engine, kPlenty);
  // Both are compiled and timed; the one that ran is checked.
  EXPECT_EQ(std::count(variants.begin(), variants.end(), "0"), 3);
  EXPECT_EQ(std::count(variants.begin(), variants.end(), "1"), 2);
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(progress, "1/1");
}

TEST_F(TunerTest, MeasuresAgainWhatAnotherVersionWrote) {
  const LateEngine engine("fake", {{.ms = 40}, {.ms = 1}});
  Choose(engine, kPlenty);
  PlanEntry entry = *cache_->Find(target_.info.name, signature_);
  entry.engine_version = "6";
  entry.variant = "0";
  cache_->Put(entry);
  EXPECT_EQ(Choose(engine, kPlenty).variant.text, "1");
  EXPECT_EQ(tuner_->stats().signatures, 1);
  EXPECT_EQ(cache_->Find(target_.info.name, signature_)->engine_version, "7");
}

TEST_F(TunerTest, TheEngineKernelIsTheReference) {
  const LateEngine engine("fake", {{.ms = 1, .off = 0.5}, {.ms = 2}});
  const LateEngine kernel("kernel", {{.off = 0.5}});
  EXPECT_EQ(Choose(engine, kPlenty, {&kernel}).variant.text, "0");
  EXPECT_EQ(kernel.compiled, 1);
}

TEST_F(TunerTest, UnitsWithoutAReferenceTrustTheirEngine) {
  node_ = &graph_.AddNode({.op = "NoSuchOp", .inputs = {graph_.inputs()[0]}});
  graph_.SetType(node_->output(0), graph_.inputs()[0]->type());
  graph_.AddOutput("z", node_->output(0));
  const LateEngine engine("fake", {{.refused = true}, {.ms = 20}, {.ms = 1}});
  const Choice choice = Choose(engine, kPlenty);
  EXPECT_EQ(choice.variant.text, "1");
  EXPECT_GE(*choice.us, 20000);
  EXPECT_FALSE(cache_->Find(target_.info.name, signature_)->checked);
  EXPECT_TRUE(absl::StrContains(Notes(), "node (NoSuchOp) 1: not checked: ")) << Notes();
}

}  // namespace
}  // namespace onnx_cudnn

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

// Tuned networks: a cached start takes the Program that tuning ended with, and none is slower than
// the untuned one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/thread_pool.h"
#include "runtime/plan/known_devices.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/late_engine.h"
#include "tests/support/session_maker.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kN = 64;

// What a launch takes.
struct Lateness {
  double again_ms = 0;  // if the launch before read the same memory, as when a Step is timed alone
  double after_others_ms = 0;
};

std::atomic<const void*> last_read = nullptr;  // by a ContextStep

// Relu or Tanh of kN elements, whose time depends on the launch before.
class ContextStep final : public Step {
 public:
  ContextStep(bool is_relu, Lateness lateness) : is_relu_(is_relu), lateness_(lateness) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    const bool again = last_read.exchange(args.in[0]) == args.in[0];
    absl::SleepFor(absl::Milliseconds(again ? lateness_.again_ms : lateness_.after_others_ms));
    const auto* x = static_cast<const float*>(args.in[0]);
    auto* y = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < kN; ++i) y[i] = is_relu_ ? std::max(x[i], 0.0f) : std::tanh(x[i]);
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const bool is_relu_;
  const Lateness lateness_;
};

// Takes each Relu and each Tanh; heuristics choose the first Variant.
class ContextEngine final : public Engine {
 public:
  ContextEngine(std::string name, double predicted_us, std::vector<Lateness> variants)
      : name_(std::move(name)), predicted_us_(predicted_us), variants_(std::move(variants)) {}
  std::string_view name() const override { return name_; }
  std::string version() const override { return "7"; }
  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    if (anchor.op() != "Relu" && anchor.op() != "Tanh") return;
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
  }
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  Cost Price(const Candidate&, const Target&) const override { return {.us = predicted_us_}; }
  absl::StatusOr<std::vector<Variant>> Variants(const Candidate&, const Target&) const override {
    return NumberedVariants(variants_.size());
  }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target&) const override {
    size_t i = 0;
    if (!absl::SimpleAtoi(variant.text, &i)) i = 0;  // the reference asks for no Variant
    const bool is_relu = candidate.nodes[0]->op() == "Relu";
    return Compiled::As(std::make_shared<ContextStep>(is_relu, variants_[i]));
  }

 private:
  const std::string name_;
  const double predicted_us_;
  const std::vector<Lateness> variants_;
};

constexpr std::string_view kRow =
    "g (float[64] x) => (float[64] y) { a = Relu(x) b = Tanh(a) y = Relu(b) }";
// The host would be faster than any ContextStep.
constexpr std::string_view kNotOnTheHost = "forbid host a\nforbid host b\nforbid host y\n";

class TunedNetworksTest : public testing::Test {
 protected:
  using Open = absl::StatusOr<OpenedDevice> (*)();

  // The partitions of a Session's Program: number, nodes, engine, variant, ops.
  static std::vector<std::string> PartitionsOf(std::string_view text, SessionOptions options,
                                               Open open) {
    if (text == kRow) absl::StrAppend(&options.pins, kNotOnTheHost);
    std::vector<float> x(kN);
    std::iota(x.begin(), x.end(), -3.0f);
    absl::StatusOr<Session> session = SessionMaker::Make(text, options, open());
    EXPECT_TRUE(session.ok()) << session.status();
    const std::vector<CheckedPartition> checked =
        session->CheckPartitions({{"x", View(x.data(), {kN})}}).value();
    std::vector<std::string> partitions;
    for (const CheckedPartition& p : checked) {
      partitions.push_back(absl::StrCat(p.index, " ", absl::StrJoin(p.nodes, ","), " ", p.engine,
                                        " ", p.variant, " ", p.ops));
    }
    std::sort(partitions.begin(), partitions.end());
    return partitions;
  }

  // Tunes; expects that cached starts, with and without a budget, take the same Program. Returns
  // its partitions; sets `strategy_`.
  std::vector<std::string> TuneAndStartAgain(std::string_view text, Open open) {
    const TempFolder folder;
    SessionOptions options{.partitioner = PartitionerChoice::kCost,
                           .tune_budget_s = 60,
                           .plan_cache = folder.path("plans.json")};
    const std::vector<std::string> tuned = PartitionsOf(text, options, open);
    for (const PlanEntry& entry : NetworksIn(options.plan_cache)) strategy_ = entry.variant;
    EXPECT_EQ(PartitionsOf(text, options, open), tuned) << text;
    options.tune_budget_s = 0;
    EXPECT_EQ(PartitionsOf(text, options, open), tuned) << text;
    return tuned;
  }

  // The entries of whole networks in a plan cache.
  static std::vector<PlanEntry> NetworksIn(const std::string& path) {
    std::vector<PlanEntry> networks;
    const auto plans = ReadPlanFile(path);
    EXPECT_TRUE(plans.ok()) << plans.status();
    if (!plans.ok()) return networks;
    for (const auto& [key, entry] : plans->entries) {
      if (entry.engine == "network") networks.push_back(entry);
    }
    return networks;
  }

  // Stores a network as one whose budget ended early.
  static void PutIncomplete(PlanEntry network, const std::string& path) {
    network.saved = absl::StrReplaceAll(network.saved, {{"complete\n", ""}});
    const auto cache = PlanCache::Open(path).value();
    cache->Put(std::move(network));
    EXPECT_TRUE(cache->Save().ok());
  }

  static absl::StatusOr<OpenedDevice> Over(EngineList engines) {
    OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true})};
    opened.target = TargetOver(GpuEngines(std::move(engines)), H200());
    return opened;
  }
  // Alone cuDNN is the fastest, in a network the kernel, which is also predicted to be.
  static absl::StatusOr<OpenedDevice> OpenSlowerTogether() {
    EngineList engines;
    engines.push_back(std::make_unique<ContextEngine>(
        "cudnn", 2, std::vector<Lateness>{{.again_ms = 2, .after_others_ms = 30}}));
    engines.push_back(std::make_unique<ContextEngine>(
        "kernel", 1, std::vector<Lateness>{{.again_ms = 10, .after_others_ms = 10}}));
    return Over(std::move(engines));
  }
  // Alone the second Variant is the fastest, in a network the first.
  static absl::StatusOr<OpenedDevice> OpenSlowerTuned() {
    EngineList engines;
    engines.push_back(std::make_unique<ContextEngine>(
        "kernel", 1,
        std::vector<Lateness>{{.again_ms = 10, .after_others_ms = 10},
                              {.again_ms = 2, .after_others_ms = 30}}));
    return Over(std::move(engines));
  }

  std::string strategy_;
};

TEST_F(TunedNetworksTest, ACachedStartTakesWhatTuningChose) {
  for (const std::string_view text :
       {"g (float[64] x) => (float[64] y) { a = Relu(x) y = Tanh(a) }",
        "g (float[64] x) => (float[64] y) { a = Tanh(x) b = Sigmoid(x) y = Mul(a, b) }",
        "g (float[64] x) => (float[64] y, float[64] z) <float one = {1}> {"
        "  a = Relu(x) y = Add(a, one) b = Exp(x) c = Add(b, a) z = Softmax(c) }"}) {
    EXPECT_FALSE(TuneAndStartAgain(text, SessionMaker::Open).empty());
  }
}

TEST_F(TunedNetworksTest, ACachedStartTakesTheCoverOfAnotherStrategy) {
  const std::vector<std::string> tuned = TuneAndStartAgain(kRow, OpenSlowerTogether);
  EXPECT_EQ(strategy_, "cost, predicted");
  ASSERT_EQ(tuned.size(), 3u);
  for (const std::string& partition : tuned) {
    EXPECT_TRUE(absl::StrContains(partition, " kernel ")) << partition;
  }
}

TEST_F(TunedNetworksTest, TheUntunedNetworkIsKeptIfItIsFaster) {
  const std::vector<std::string> tuned = TuneAndStartAgain(kRow, OpenSlowerTuned);
  EXPECT_EQ(strategy_, "untuned");
  EXPECT_EQ(PartitionsOf(kRow, {}, OpenSlowerTuned), tuned);
  for (const std::string& partition : tuned) {
    EXPECT_TRUE(absl::StrContains(partition, " kernel 0 ")) << partition;
  }
}

// Its recorded time is that of another clock.
TEST_F(TunedNetworksTest, AKnownNetworkRacesAgain) {
  const TempFolder folder;
  SessionOptions options{.partitioner = PartitionerChoice::kCost,
                         .tune_budget_s = 60,
                         .plan_cache = folder.path("plans.json")};
  const std::vector<std::string> fast = PartitionsOf(kRow, options, OpenSlowerTogether);
  PlanEntry known = NetworksIn(options.plan_cache).at(0);
  SessionOptions slow = options;
  slow.plan_cache = folder.path("slow.json");
  slow.pins = "forbid kernel a\nforbid kernel b\nforbid kernel y\n";
  EXPECT_NE(PartitionsOf(kRow, slow, OpenSlowerTogether), fast);
  known.saved = NetworksIn(slow.plan_cache).at(0).saved;
  known.variant = "cost";
  known.us = 1e-3;
  PutIncomplete(known, options.plan_cache);
  EXPECT_NE(
      PartitionsOf(kRow, {.partitioner = options.partitioner, .plan_cache = options.plan_cache},
                   OpenSlowerTogether),
      fast);
  EXPECT_EQ(PartitionsOf(kRow, options, OpenSlowerTogether), fast);
  EXPECT_GT(NetworksIn(options.plan_cache).at(0).us, 1e3);
  options.tune_budget_s = 0;
  EXPECT_EQ(PartitionsOf(kRow, options, OpenSlowerTogether), fast);
}

TEST_F(TunedNetworksTest, TheUntunedNetworkIsTimedByTheNextStart) {
  const TempFolder folder;
  const SessionOptions options{.partitioner = PartitionerChoice::kCost,
                               .tune_budget_s = 60,
                               .plan_cache = folder.path("plans.json")};
  PartitionsOf(kRow, options, OpenSlowerTuned);
  PlanEntry known = NetworksIn(options.plan_cache).at(0);
  ASSERT_EQ(known.variant, "untuned");
  known.variant = "cost";  // as where the budget ended before the untuned one was timed
  PutIncomplete(known, options.plan_cache);
  PartitionsOf(kRow, options, OpenSlowerTuned);
  EXPECT_EQ(NetworksIn(options.plan_cache).at(0).variant, "untuned");
}

// Relus of ten shapes, each of 100 elements.
Result<std::vector<Tensor>> RunTenRelus(SessionOptions options, absl::StatusOr<OpenedDevice> open) {
  const std::vector<std::vector<int64_t>> shapes = {{100},   {1, 100}, {100, 1}, {2, 50}, {50, 2},
                                                    {4, 25}, {25, 4},  {5, 20},  {20, 5}, {10, 10}};
  const std::vector<float> numbers(100, 1.0f);
  std::vector<std::string> inputs, outputs, nodes;
  std::vector<NamedView> views;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string type = absl::StrCat("float[", absl::StrJoin(shapes[i], ","), "]");
    inputs.push_back(absl::StrCat(type, " x", i));
    outputs.push_back(absl::StrCat(type, " y", i));
    nodes.push_back(absl::StrCat("y", i, " = Relu(x", i, ")"));
    absl::StrAppend(&options.pins, "forbid host y", i, "\n");
    views.emplace_back(absl::StrCat("x", i), View(numbers.data(), shapes[i]));
  }
  const std::string text =
      absl::StrCat("g (", absl::StrJoin(inputs, ", "), ") => (", absl::StrJoin(outputs, ", "),
                   ") { ", absl::StrJoin(nodes, " "), " }");
  const absl::StatusOr<Session> session = SessionMaker::Make(text, options, std::move(open));
  EXPECT_TRUE(session.ok()) << session.status();
  return session->Run(views);
}

// What was measured is loaded at once, but the untuned network's first Variants take 1.5 s.
TEST_F(TunedNetworksTest, TheUntunedNetworkDoesNotExceedTheBudget) {
  const auto open = [] {
    EngineList engines;
    engines.push_back(std::make_unique<LateEngine>(
        "cudnn",
        std::vector<LateVariant>{{.ms = 2, .compile_ms = 150}, {.ms = 0.1, .saved = "saved"}}));
    return Over(std::move(engines));
  };
  const TempFolder folder;
  SessionOptions options{.partitioner = PartitionerChoice::kCost,
                         .tune_budget_s = 60,
                         .plan_cache = folder.path("plans.json")};
  ASSERT_TRUE(RunTenRelus(options, open()).ok());
  PutIncomplete(NetworksIn(options.plan_cache).at(0), options.plan_cache);
  options.tune_budget_s = 0.5;
  const ThreadPool::Limit one_thread(1);
  const absl::Time start = absl::Now();
  ASSERT_TRUE(RunTenRelus(options, open()).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(1.2));
}

TEST_F(TunedNetworksTest, ATinyBudgetEndsInTime) {
  const TempFolder folder;
  const SessionOptions options{.partitioner = PartitionerChoice::kCost,
                               .tune_budget_s = 1e-3,
                               .plan_cache = folder.path("plans.json")};
  const absl::Time start = absl::Now();
  EXPECT_EQ(PartitionsOf(kRow, options, OpenSlowerTuned).size(), 3u);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

}  // namespace
}  // namespace onnx_cudnn

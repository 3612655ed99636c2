// A Tuner with processes that compile: what is compiled is timed while other plans are compiled.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/tune/tuner.h"
#include "tests/support/hook_engine.h"

namespace onnx_cudnn {
namespace {

// Calls `before` with the number of elements before it compiles.
class WaitingEngine final : public ReluEngine {
 public:
  WaitingEngine(const Hooks& hooks, std::function<void(int64_t)> before)
      : hooks_(hooks), before_(std::move(before)) {}
  std::string_view name() const override { return "waiting"; }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 0.1}; }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    const int64_t elements = candidate.nodes[0]->output(0).elements();
    before_(elements);
    return Compiled::As(std::make_shared<HookRelu>(hooks_, elements));
  }

 private:
  const Hooks& hooks_;
  const std::function<void(int64_t)> before_;
};

class CompilersTest : public testing::Test {
 protected:
  // Relus of 1 to `count` elements are measured, beside processes that compile.
  absl::StatusOr<std::vector<Choice>> Measure(const Engine& engine, int count, double budget_s) {
    target_.engines = {&engine};
    for (int i = 1; i <= count; ++i) {
      const Type type = Type::Tensor(DType::kF32, {i});
      Node& node = graph_.AddNode({.op = "Relu", .inputs = {&graph_.AddInput("x", type)}});
      graph_.SetType(node.output(0), type);
      graph_.AddOutput("y", node.output(0));
      candidates_.push_back(RowMajorCandidate(engine, node, Space::kDevice, target_));
    }
    std::vector<const Candidate*> asked;
    for (const Candidate& candidate : candidates_) asked.push_back(&candidate);
    Tuner tuner(target_, *device_, *cache_, {.budget_s = budget_s, .compilers = [] { return 4; }});
    return tuner.Choose(asked);
  }

  Graph graph_;
  Target target_;
  std::vector<Candidate> candidates_;
  const std::unique_ptr<Device> device_ = MakeCpuDevice();
  const std::unique_ptr<PlanCache> cache_ = *PlanCache::Open("");
};

TEST_F(CompilersTest, WhatIsCompiledIsTimedBeforeTheSlowestPlanIsThere) {
  absl::Notification timed;
  const Hooks hooks{.launch = [&] {
    if (!timed.HasBeenNotified()) timed.Notify();
  }};
  bool came_first = false;
  const WaitingEngine engine(hooks, [&](int64_t elements) {
    if (elements == 3) came_first = timed.WaitForNotificationWithTimeout(absl::Seconds(20));
  });
  const auto choices = Measure(engine, 3, /*budget_s=*/60);
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_TRUE(came_first);
  for (const Choice& choice : *choices) EXPECT_TRUE(choice.us.has_value());
}

// The budget ends while the first one is timed and others are compiled.
TEST_F(CompilersTest, WhereTheBudgetEndsNothingElseIsCompiled) {
  const Hooks hooks{.launch = [] { absl::SleepFor(absl::Milliseconds(40)); }};
  std::atomic<int> compiled = 0;
  const WaitingEngine engine(hooks, [&](int64_t elements) {
    ++compiled;
    if (elements > 1) absl::SleepFor(absl::Milliseconds(50));
  });
  const auto choices = Measure(engine, 60, /*budget_s=*/0.1);
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_TRUE((*choices)[0].us.has_value());
  EXPECT_TRUE(choices->back().is_left_out);
  EXPECT_LT(compiled, 60);
}

// An exception that left the thread which compiles would end the process.
TEST_F(CompilersTest, AnExceptionOfACompilationReachesTheCaller) {
  const Hooks hooks;
  const WaitingEngine engine(hooks, [](int64_t elements) {
    if (elements == 2) throw std::bad_alloc();
  });
  EXPECT_THROW(Measure(engine, 3, /*budget_s=*/60).IgnoreError(), std::bad_alloc);
}

TEST_F(CompilersTest, AFailureEndsBothSides) {
  const Hooks hooks{.status = [] { return absl::FailedPreconditionError("the device is lost"); }};
  const WaitingEngine engine(hooks, [](int64_t) {});
  EXPECT_EQ(Measure(engine, 20, /*budget_s=*/60).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace onnx_cudnn

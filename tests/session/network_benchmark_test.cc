#include "runtime/session/network_benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/build_program.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/session/engines.h"
#include "runtime/session/search_strategies.h"
#include "tests/support/forwarding_device.h"
#include "tests/support/graph_text.h"
#include "tests/support/hook_engine.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kChain =
    "g (float[4,8] x) => (float[4,8] y) { a = Relu(x) y = Tanh(a) }";

// Every Candidate costs `us`.
class FixedPricer final : public Pricer {
 public:
  explicit FixedPricer(double us) : us_(us) {}
  std::optional<double> MeasuredUs(const std::string& signature) const override {
    return signature.empty() ? std::nullopt : std::optional(us_);
  }
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override {
    return std::vector<Choice>(candidates.size(), Choice{.us = us_});
  }

 private:
  const double us_;
};

TEST(NetworkBenchmarkTest, TriesCostFirstAndGreedyLast) {
  EXPECT_EQ(SearchStrategies().front().partitioner, Partitioner(CostSearch));
  EXPECT_EQ(SearchStrategies().front().library_factor, 1);
  EXPECT_EQ(SearchStrategies().back().partitioner, Partitioner(Greedy));
}

TEST(NetworkBenchmarkTest, WeighsLibrariesAlone) {
  FixedPricer fixed(8);
  WeightedPricer weighted(fixed, 1.25);
  EXPECT_EQ(weighted.MeasuredUs("cudnn 9.19.0 on h200"), 10);
  EXPECT_EQ(weighted.MeasuredUs("gemm 13.1 on h200"), 10);
  EXPECT_EQ(weighted.MeasuredUs("kernel cuda on h200"), 8);
  EXPECT_EQ(weighted.MeasuredUs(""), std::nullopt);
  const OwnedTarget target = *MakeTarget("h200");
  std::vector<Candidate> candidates;
  for (const Engine* engine : target.target.engines) candidates.push_back({.engine = engine});
  for (const Candidate& candidate : candidates) {
    const bool is_library =
        candidate.engine->name() == "cudnn" || candidate.engine->name() == "gemm";
    const Candidate* asked[] = {&candidate};
    EXPECT_EQ((*weighted.Choose(asked))[0].us, is_library ? 10 : 8) << candidate.engine->name();
  }
}

TEST(NetworkBenchmarkTest, SignaturesDistinguishNetworks) {
  const OwnedTarget target = *MakeTarget("h200");
  const std::string chain = NetworkSignature(GraphFromText(kChain), target.target, 2);
  EXPECT_EQ(NetworkSignature(GraphFromText(kChain), target.target, 2), chain);
  EXPECT_NE(NetworkSignature(GraphFromText(kChain), target.target, 1), chain);
  EXPECT_NE(NetworkSignature(GraphFromText("g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }"),
                             target.target, 2),
            chain);
}

TEST(NetworkBenchmarkTest, SignaturesDistinguishPins) {
  const OwnedTarget target = *MakeTarget("h200");
  const auto signature = [&](std::string_view pins) {
    return NetworkSignature(GraphFromText(kChain), target.target, 2,
                            ParsePins(pins, "pins").value());
  };
  EXPECT_EQ(signature(""), NetworkSignature(GraphFromText(kChain), target.target, 2));
  EXPECT_EQ(signature("pin * a # a comment"), signature("pin *  a"));
  const std::string_view different[] = {"", "pin * a", "forbid * a", "pin kernel a", "pin * a y"};
  std::set<std::string> signatures;
  for (const std::string_view pins : different) signatures.insert(signature(pins));
  EXPECT_EQ(signatures.size(), std::size(different));
}

std::shared_ptr<const Program> ProgramOf(const Graph& graph, const Target& target) {
  return *BuildProgram(graph, {}, target, {});
}

TEST(NetworkBenchmarkTest, TimesEachProgram) {
  const OwnedTarget target = *MakeTarget("cpu");
  const Graph chain = GraphFromText(kChain);
  const Graph one = GraphFromText("g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }");
  const std::vector<std::shared_ptr<const Program>> programs = {ProgramOf(chain, target.target),
                                                                ProgramOf(one, target.target)};
  EXPECT_TRUE(SameCandidates(*programs[0], *ProgramOf(chain, target.target), target.target));
  EXPECT_FALSE(SameCandidates(*programs[0], *programs[1], target.target));
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  const auto ms = TimeNetworks(programs, *device, /*capture=*/true);
  ASSERT_TRUE(ms.ok()) << ms.status();
  ASSERT_EQ(ms->size(), 2u);
  for (const NetworkTime& time : *ms) EXPECT_GT(time.ms, 0);
}

// Relu of float[4,8] that looks at what it reads.
class SeesInputs final : public ReluEngine {
 public:
  explicit SeesInputs(std::atomic<bool>& all_zero) : all_zero_(all_zero) {}
  std::string_view name() const override { return "sees"; }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 1}; }
  absl::StatusOr<Compiled> Compile(const Candidate&, const Variant&, const Target&) const override {
    return Compiled::As(std::make_shared<Look>(all_zero_));
  }

 private:
  class Look final : public Step {
   public:
    explicit Look(std::atomic<bool>& all_zero) : all_zero_(all_zero) {}
    absl::Status Launch(const LaunchArgs& args) const override {
      const auto* x = static_cast<const float*>(args.in[0]);
      if (!std::all_of(x, x + 32, [](float value) { return value == 0; })) all_zero_ = false;
      std::copy_n(x, 32, static_cast<float*>(args.out[0]));
      return absl::OkStatus();
    }
    std::string Save() const override { return ""; }

   private:
    std::atomic<bool>& all_zero_;
  };
  std::atomic<bool>& all_zero_;
};

TEST(NetworkBenchmarkTest, DistinguishesVariants) {
  Program one, two;
  one.partitions.push_back({.variant = {"engine 1"}});
  two.partitions.push_back({.variant = {"engine 2"}});
  EXPECT_TRUE(SameVariants(one, one));
  EXPECT_FALSE(SameVariants(one, two));
}

TEST(NetworkBenchmarkTest, EndsWhenItIsCancelled) {
  const OwnedTarget target = *MakeTarget("cpu");
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(TimeNetworks({{ProgramOf(GraphFromText(kChain), target.target)}}, *device,
                         /*capture=*/true, Beside::kRuns, &cancel)
                .status()
                .code(),
            absl::StatusCode::kCancelled);
}

// The Program of one Relu by `engine`.
std::shared_ptr<const Program> OneRelu(const Engine& engine) {
  const Target target{.engines = {&engine}};
  return ProgramOf(GraphFromText("g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }"), target);
}

// A run takes 3 ms, so that a quarter of a second warms up, and half a second counts.
TEST(NetworkBenchmarkTest, RunsLessWhereTheTimeIsOver) {
  std::atomic<int> launches = 0;
  const Hooks hooks{.launch = [&] {
    ++launches;
    absl::SleepFor(absl::Milliseconds(3));
  }};
  const HookEngine engine(hooks);
  const auto program = OneRelu(engine);
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  const auto launches_until = [&](absl::Time until) {
    launches = 0;
    const auto ms = TimeNetworks({{program}}, *device, /*capture=*/false, Beside::kNothing,
                                 /*cancel=*/nullptr, until);
    EXPECT_TRUE(ms.ok()) << ms.status();
    EXPECT_GT((*ms)[0].ms, 2.9);
    return launches.load();
  };
  EXPECT_LT(launches_until(absl::InfinitePast()), 8);
  EXPECT_GT(launches_until(absl::InfiniteFuture()), 120);
}

// The first is faster until the device is warm.
TEST(NetworkBenchmarkTest, TheTimeUnderLoadCounts) {
  std::atomic<int> launches = 0;
  const Hooks tiring{
      .launch = [&] { absl::SleepFor(absl::Milliseconds(++launches > 40 ? 6 : 3)); }};
  const Hooks steady{.launch = [] { absl::SleepFor(absl::Milliseconds(3.1)); }};
  const HookEngine tires(tiring), keeps(steady);
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  const auto times = TimeNetworks({{OneRelu(tires), OneRelu(keeps)}}, *device, /*capture=*/false);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_GT((*times)[0].ms, 5);
  EXPECT_LT((*times)[1].ms, (*times)[0].ms);
  EXPECT_EQ((*times)[0].joules, std::nullopt);
}

// Where the time is too short for two full rounds of each, the slower ones have none.
TEST(NetworkBenchmarkTest, WhereTimeIsShortTheFastestAloneRunUnderLoad) {
  std::atomic<int> fast_launches = 0, slow_launches = 0;
  const Hooks fast{.launch = [&] {
    ++fast_launches;
    absl::SleepFor(absl::Milliseconds(3));
  }};
  const Hooks slow{.launch = [&] {
    ++slow_launches;
    absl::SleepFor(absl::Milliseconds(3.35));
  }};
  const HookEngine fast_engine(fast), slow_engine(slow);
  std::vector<std::shared_ptr<const Program>> programs;
  for (const HookEngine* engine :
       {&slow_engine, &fast_engine, &slow_engine, &fast_engine, &slow_engine}) {
    programs.push_back(OneRelu(*engine));
  }
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  const auto times = TimeNetworks(programs, *device, /*capture=*/false, Beside::kNothing,
                                  /*cancel=*/nullptr, absl::Now() + absl::Seconds(1.4));
  ASSERT_TRUE(times.ok()) << times.status();
  constexpr int kShort = 3 + 6 + 6 + 3 * 2;  // most runs of three short rounds, two prepare each
  EXPECT_LE(slow_launches, 3 * kShort);
  EXPECT_GT(fast_launches, 2 * kShort + 100);
}

// Two joules a launch.
class CountsJoules final : public ForwardingDevice {
 public:
  explicit CountsJoules(const std::atomic<int>& launches,
                        std::optional<double> limit_watts = std::nullopt)
      : ForwardingDevice(MakeCpuDevice({.like_a_gpu = true})),
        launches_(launches),
        limit_watts_(limit_watts) {}
  std::optional<double> Joules() const override { return 2.0 * launches_; }
  std::optional<double> PowerLimitWatts() const override { return limit_watts_; }

 private:
  const std::atomic<int>& launches_;
  const std::optional<double> limit_watts_;
};

TEST(NetworkBenchmarkTest, CountsJoulesOfARunUnderLoad) {
  std::atomic<int> launches = 0;
  std::atomic<double> ms = 3;
  const Hooks hooks{.launch = [&] {
    ++launches;
    absl::SleepFor(absl::Milliseconds(ms.load()));
  }};
  const HookEngine engine(hooks);
  CountsJoules device(launches);
  const auto joules = [&] {
    return (*TimeNetworks({{OneRelu(engine)}}, device, /*capture=*/false))[0].joules;
  };
  EXPECT_NEAR(joules().value(), 2, 0.1);
  ms = 0;  // too short to be limited by power
  EXPECT_EQ(joules(), std::nullopt);
}

// A launch takes 4 ms, of 2 J: up to 500 W. Far below the limit a quarter of a second under load
// says so, near it half a second more counts.
TEST(NetworkBenchmarkTest, FarFromItsPowerLimitADeviceIsNotLoaded) {
  std::atomic<int> launches = 0;
  const Hooks hooks{.launch = [&] {
    ++launches;
    absl::SleepFor(absl::Milliseconds(4));
  }};
  const HookEngine engine(hooks);
  const auto launches_with = [&](double limit_watts) {
    launches = 0;
    CountsJoules device(launches, limit_watts);
    const auto times = TimeNetworks({{OneRelu(engine)}}, device, /*capture=*/false);
    EXPECT_TRUE(times.ok()) << times.status();
    EXPECT_NEAR(times->at(0).joules.value(), 2, 0.3);
    return launches.load();
  };
  EXPECT_LT(launches_with(5000), 100);
  EXPECT_GT(launches_with(100), 130);
}

TEST(NetworkBenchmarkTest, InputsAreNoZeros) {
  std::atomic<bool> all_zero = true;
  const SeesInputs engine(all_zero);
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  ASSERT_TRUE(TimeNetworks({{OneRelu(engine)}}, *device, /*capture=*/false).ok());
  EXPECT_FALSE(all_zero);
}

TEST(NetworkBenchmarkTest, DoesNotTimeStrings) {
  const OwnedTarget target = *MakeTarget("cpu");
  const Graph graph = GraphFromText("g (string[2] x) => (int64[1] y) { y = Shape(x) }");
  const auto program = *BuildProgram(
      graph, {}, target.target, {.input_values = {{"x", HostTensor::Strings({2}, {"a", "b"})}}});
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  EXPECT_EQ(TimeNetworks({{program}}, *device, true).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/session/network_benchmark.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/build_program.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/session/engines.h"
#include "runtime/session/search_strategies.h"
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
  for (const double time : *ms) EXPECT_GT(time, 0);
}

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

// A run takes 3 ms, so that a round lasts 170 ms.
TEST(NetworkBenchmarkTest, RunsLessWhereTheTimeIsOver) {
  std::atomic<int> launches = 0;
  const Hooks hooks{.launch = [&] {
    ++launches;
    absl::SleepFor(absl::Milliseconds(3));
  }};
  const HookEngine engine(hooks);
  const Target target{.engines = {&engine}};
  const auto program =
      ProgramOf(GraphFromText("g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }"), target);
  const auto device = MakeCpuDevice({.like_a_gpu = true});
  const auto launches_until = [&](absl::Time until) {
    launches = 0;
    const auto ms = TimeNetworks({{program}}, *device, /*capture=*/false, Beside::kNothing,
                                 /*cancel=*/nullptr, until);
    EXPECT_TRUE(ms.ok()) << ms.status();
    EXPECT_GT((*ms)[0], 2.9);
    return launches.load();
  };
  EXPECT_LT(launches_until(absl::InfinitePast()), 20);
  EXPECT_GT(launches_until(absl::InfiniteFuture()), 60);
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

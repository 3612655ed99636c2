// What Sessions with random ops repeat, and what they do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <thread>

#include "tests/session/shifted_relu.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;

constexpr std::string_view kSeeded =
    "g () => (float[64] y) { y = RandomNormal<shape = [64], seed = 5.0>() }";
constexpr std::string_view kUnseeded = "g () => (float[64] y) { y = RandomNormal<shape = [64]>() }";

Floats RunOnce(const Session& session, const std::vector<NamedView>& inputs = {}) {
  auto outputs = session.Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return Values(outputs.value()[0]);
}

std::vector<Floats> RunTimes(const Session& session, int times) {
  std::vector<Floats> results;
  for (int i = 0; i < times; ++i) results.push_back(RunOnce(session));
  return results;
}

size_t Distinct(const std::vector<Floats>& results) {
  return std::set<Floats>(results.begin(), results.end()).size();
}

TEST(RandomSessionTest, ASeedRepeatsTheSequenceOfRuns) {
  const std::vector<Floats> first = RunTimes(LoadText(kSeeded), 4);
  EXPECT_EQ(Distinct(first), 4);
  EXPECT_EQ(first, RunTimes(LoadText(kSeeded), 4));
  EXPECT_EQ(first, RunTimes(LoadText(kSeeded, {.threads = 1}), 4));
  EXPECT_EQ(first, RunTimes(LoadText(kSeeded, {.target = "h200"}), 4));
  EXPECT_EQ(first, RunTimes(LoadText(kSeeded, {.optimization_level = 0}), 4));
}

TEST(RandomSessionTest, WithoutASeedNothingRepeats) {
  std::vector<Floats> results = RunTimes(LoadText(kUnseeded), 2);
  for (const Floats& other : RunTimes(LoadText(kUnseeded), 2)) results.push_back(other);
  EXPECT_EQ(Distinct(results), 4);
}

// Its streams run in a random order, and replays of a capture call the Step again.
TEST(RandomSessionTest, ADeviceLikeAGpuDrawsTheSameNumbers) {
  const Session session = SessionMaker::Make(kSeeded, {}).value();
  EXPECT_EQ(RunTimes(session, 4), RunTimes(LoadText(kSeeded), 4));
}

constexpr std::string_view kTwo = R"(
    g () => (float[64] y, float[64] z) {
      y = RandomUniform<shape = [64], seed = 5.0>()
      z = RandomUniform<shape = [64], seed = 5.0>()
    })";

TEST(RandomSessionTest, EqualNodesDrawDifferentNumbers) {
  const auto run = [](const Session& session) {
    auto outputs = session.Run(std::vector<NamedView>{}).value();
    return std::array<Floats, 2>{Values(outputs[0]), Values(outputs[1])};
  };
  const std::array<Floats, 2> found = run(LoadText(kTwo));
  EXPECT_NE(found[0], found[1]);
  EXPECT_EQ(run(SessionMaker::Make(kTwo, {}).value()), found);
}

// A Program for other shapes continues the sequence.
TEST(RandomSessionTest, ShapesShareASequence) {
  constexpr std::string_view kLike =
      "g (float[N] x) => (float[N] y) { y = RandomUniformLike<seed = 5.0>(x) }";
  const Floats x(8);
  const NamedView four = View(x.data(), {4}), eight = View(x.data(), {8});
  const Session mixed = LoadText(kLike), same = LoadText(kLike);
  const Floats short_first = RunOnce(mixed, {four}), long_first = RunOnce(same, {eight});
  EXPECT_EQ(short_first, Floats(long_first.begin(), long_first.begin() + 4));
  EXPECT_EQ(RunOnce(mixed, {eight}), RunOnce(same, {eight}));
}

TEST(RandomSessionTest, RunsAtOnceDiffer) {
  const Session session = LoadText(kSeeded, {.max_executors_per_program = 4});
  std::mutex mutex;
  std::vector<Floats> results;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const Floats& result : RunTimes(session, 10)) {
        const std::lock_guard lock(mutex);
        results.push_back(result);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Distinct(results), 40);
  std::vector<Floats> expected = RunTimes(LoadText(kSeeded), 40);
  std::sort(results.begin(), results.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(results, expected);
}

// Whether its body is copied for each iteration, or Scan runs it because the copies are too many.
TEST(RandomSessionTest, IterationsDrawAnew) {
  const Session session = LoadText(R"(
      g (float[N,16] x) => (float[N,16] y) {
        y = Scan<num_scan_inputs = 1, body = b (float[16] s) => (float[16] r)
            { r = RandomUniformLike<seed = 5.0>(s) }>(x)
      })");
  for (const int64_t n : {3, 5000}) {
    const Floats x(16 * n);
    std::set<Floats> rows;
    for (int run = 0; run < 2; ++run) {
      const Floats y = RunOnce(session, {View(x.data(), {n, 16})});
      for (int64_t i = 0; i < n; ++i) rows.emplace(y.begin() + 16 * i, y.begin() + 16 * (i + 1));
    }
    EXPECT_EQ(rows.size(), 2 * n);
  }
}

TEST(RandomSessionTest, ABranchDrawsAnew) {
  constexpr std::string_view kIf = R"(
      g (float[1] x) => (float[16] y) <float[1] zero = {0}> {
        positive = Greater(x, zero)
        c = Squeeze(positive)
        y = If(c) <
          then_branch = a () => (float[16] p) { p = RandomUniform<shape = [16], seed = 5.0>() },
          else_branch = b () => (float[16] q) { q = RandomUniform<shape = [16], seed = 5.0>() }>
      })";
  const Session session = LoadText(kIf);
  std::vector<Floats> results;
  for (const float x : {1.0F, -1.0F, 1.0F, -1.0F})
    results.push_back(RunOnce(session, {View(&x, {1})}));
  EXPECT_EQ(Distinct(results), 4);
}

TEST(RandomSessionTest, DropoutTrainsWhereAnInputSaysSo) {
  constexpr std::string_view kDropout = R"(
      g (float[1000] x, float r, bool t) => (float[1000] y, bool[1000] m)
      { y, m = Dropout<seed = 5>(x, r, t) })";
  const Floats x(1000, 3);
  for (const char* target : {"", "h200"}) {
    const Session session = LoadText(kDropout, {.target = target});
    const auto run = [&](float ratio, bool training) {
      auto outputs = session.Run(
          {{"x", View(x.data(), {1000})}, {"r", View(&ratio, {})}, {"t", View(&training, {})}});
      return std::move(outputs.value());
    };
    EXPECT_EQ(Values(run(0.25, false)[0]), x);
    EXPECT_EQ(Values(run(0, true)[0]), x);
    const std::vector<Tensor> first = run(0.25, true), second = run(0.25, true);
    EXPECT_NE(Values(first[0]), Values(second[0]));
    int kept = 0;
    for (int i = 0; i < 1000; ++i) {
      kept += first[1].data<bool>()[i];
      EXPECT_EQ(first[0].data<float>()[i], first[1].data<bool>()[i] ? 4 : 0);
    }
    EXPECT_NEAR(kept, 750, 70);  // five deviations
  }
}

TEST(RandomSessionTest, PartitionsWithRandomNumbersAreNotCompared) {
  auto checks = LoadText(kSeeded).CheckPartitions({});
  ASSERT_TRUE(checks.ok()) << checks.error().message;
  ASSERT_FALSE(checks.value().empty());
  EXPECT_TRUE(checks.value()[0].ok);
  EXPECT_EQ(checks.value()[0].note, "not compared: its numbers are random");
}

}  // namespace
}  // namespace onnx_cudnn

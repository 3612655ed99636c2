#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;

// A chain, or a graph on several streams where each Step reads outputs of some earlier Steps.
struct Case {
  Schedule schedule;
  std::vector<Buffer> buffers;  // buffer i is written by Step i unless it is an alias
  int steps = 0;
  StepOrder order() const { return StepOrder(schedule, steps); }
};

Case RandomCase(int steps, int streams, bool aliases, std::mt19937& random) {
  std::vector<std::vector<int>> predecessors(steps);
  Case made{.buffers = std::vector<Buffer>(steps), .steps = steps};
  for (int i = 0; i < steps; ++i) {
    made.buffers[i].bytes = static_cast<int64_t>(random() % 5000);
    made.buffers[i].writers = {i};
    for (int k = 0; i > 0 && k < 1 + static_cast<int>(random() % 2); ++k) {
      const int p = i - 1 - static_cast<int>(random() % std::min(i, 10));
      predecessors[i].push_back(p);
      made.buffers[p].readers.push_back(i);
    }
    if (!aliases || i == 0 || random() % 4 != 0) continue;
    const int root = predecessors[i][0];
    made.buffers[i].alias = {root, static_cast<int64_t>(random() % 100)};
  }
  made.schedule = MakeSchedule(predecessors, streams);
  return made;
}

int RootOf(const std::vector<Buffer>& buffers, int i) {
  while (buffers[i].alias.has_value()) i = buffers[i].alias->buffer;
  return i;
}

// Whether every use of `a` comes before every write of `b`, tested for each pair of Steps.
bool ComesBefore(const Buffer& a, const Buffer& b, const StepOrder& order) {
  for (const auto* uses : {&a.writers, &a.readers}) {
    for (int use : *uses) {
      for (int write : b.writers) {
        if (!order.HappensBefore(use, write)) return false;
      }
    }
  }
  return true;
}

// Number of pairs of buffers that share bytes while both are live and are not aliases of one
// buffer.
int Clashes(const std::vector<Buffer>& buffers, const MemoryPlan& plan, const StepOrder& order) {
  int clashes = 0;
  std::vector<Buffer> merged = buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int root = RootOf(buffers, static_cast<int>(i));
    if (root == static_cast<int>(i)) continue;
    Buffer& into = merged[root];
    into.writers.insert(into.writers.end(), buffers[i].writers.begin(), buffers[i].writers.end());
    into.readers.insert(into.readers.end(), buffers[i].readers.begin(), buffers[i].readers.end());
  }
  for (size_t a = 0; a < buffers.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const int root_a = RootOf(buffers, static_cast<int>(a));
      const int root_b = RootOf(buffers, static_cast<int>(b));
      const bool apart = plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                         plan.offsets[b] + buffers[b].bytes <= plan.offsets[a];
      if (root_a == root_b || apart || buffers[a].bytes == 0 || buffers[b].bytes == 0) continue;
      if (ComesBefore(merged[root_a], merged[root_b], order)) continue;
      if (ComesBefore(merged[root_b], merged[root_a], order)) continue;
      ++clashes;
    }
  }
  return clashes;
}

void ExpectGoodPlan(const Case& c) {
  const StepOrder order = c.order();
  const absl::StatusOr<MemoryPlan> plan = PlanMemory(c.buffers, order, kAlignment);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Clashes(c.buffers, *plan, order), 0);
  EXPECT_GE(plan->arena_bytes, PeakBytes(c.buffers, order));
  EXPECT_EQ(plan->arena_bytes % kAlignment, 0);
  for (size_t i = 0; i < c.buffers.size(); ++i) {
    const Buffer& buffer = c.buffers[i];
    EXPECT_LE(plan->offsets[i] + buffer.bytes, plan->arena_bytes);
    if (buffer.alias.has_value()) {
      EXPECT_EQ(plan->offsets[i], plan->offsets[buffer.alias->buffer] + buffer.alias->offset);
    } else {
      EXPECT_EQ(plan->offsets[i] % kAlignment, 0);
    }
  }
}

TEST(PlanMemoryTest, NoTwoLiveSlicesOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    ExpectGoodPlan(RandomCase(80, 1 + round % 4, /*aliases=*/round % 2 == 1, random));
  }
}

TEST(PlanMemoryTest, NoTwoLiveSlicesOverlapBeyondGreedyBySize) {
  std::mt19937 random(2);
  for (int streams : {1, 3}) ExpectGoodPlan(RandomCase(4500, streams, /*aliases=*/false, random));
}

TEST(PlanMemoryTest, ReusesWhatIsOver) {  // a chain of equal buffers needs two
  Case chain{.steps = 10};
  std::vector<std::vector<int>> predecessors(10);
  for (int i = 0; i < 10; ++i) {
    chain.buffers.push_back({.bytes = 640, .writers = {i}});
    if (i > 0) predecessors[i] = {i - 1};
    if (i > 0) chain.buffers[i - 1].readers = {i};
  }
  chain.schedule = MakeSchedule(predecessors, 1);
  EXPECT_EQ(PlanMemory(chain.buffers, chain.order(), kAlignment)->arena_bytes, 1280);
  EXPECT_EQ(PeakBytes(chain.buffers, chain.order()), 1280);
}

// As in a DenseNet: step i writes feature i, which all later steps read, and a copy of all so far.
TEST(PlanMemoryTest, GrowingCopiesAndLongLivesTakeNoMoreThanThePeak) {
  constexpr int kSteps = 30;
  std::vector<std::vector<int>> predecessors(kSteps);
  std::vector<Buffer> buffers;
  for (int i = 0; i < kSteps; ++i) {
    if (i > 0) predecessors[i] = {i - 1};
    Buffer feature{.bytes = kAlignment, .writers = {i}};
    for (int k = i + 1; k < kSteps; ++k) feature.readers.push_back(k);
    buffers.push_back(std::move(feature));
    buffers.push_back({.bytes = kAlignment * (i + 1), .writers = {i}});
    if (i + 1 < kSteps) buffers.back().readers = {i + 1};
  }
  const StepOrder order(MakeSchedule(predecessors, 1), kSteps);
  const auto plan = PlanMemory(buffers, order, kAlignment);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Clashes(buffers, *plan, order), 0);
  EXPECT_EQ(plan->arena_bytes, PeakBytes(buffers, order));
}

TEST(PlanMemoryTest, AliasesLiveAsLongAsTheirRoot) {  // 0 → view 1 → read by 3, while 2 is written
  const std::vector<Buffer> buffers = {
      {.bytes = 64, .writers = {0}, .readers = {1}},
      {.bytes = 64, .writers = {1}, .readers = {3}, .alias = BufferAlias{0, 0}},
      {.bytes = 64, .writers = {2}, .readers = {3}}};
  const StepOrder order(MakeSchedule({{}, {0}, {}, {1, 2}}, 1), 4);
  const MemoryPlan plan = *PlanMemory(buffers, order, kAlignment);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_NE(plan.offsets[0], plan.offsets[2]);
}

TEST(PlanMemoryTest, KeepsABufferUntilItsLastPartIsRead) {  // by 5, after 4 wrote something else
  const std::vector<Buffer> buffers = {
      {.bytes = 192, .writers = {0}, .readers = {1, 2}},
      {.bytes = 64, .writers = {1}, .readers = {4}, .alias = BufferAlias{0, 0}},
      {.bytes = 128, .writers = {2}, .readers = {3}, .alias = BufferAlias{0, 64}},
      {.bytes = 64, .writers = {3}, .readers = {5}, .alias = BufferAlias{2, 64}},
      {.bytes = 192, .writers = {4}, .readers = {5}}};
  const StepOrder order(MakeSchedule({{}, {0}, {0}, {2}, {1}, {3, 4}}, 1), 6);
  const MemoryPlan plan = *PlanMemory(buffers, order, kAlignment);
  EXPECT_EQ(plan.offsets[1], plan.offsets[0]);
  EXPECT_EQ(plan.offsets[2], plan.offsets[0] + 64);
  EXPECT_EQ(plan.offsets[3], plan.offsets[0] + 128);
  EXPECT_EQ(plan.arena_bytes, 384);
}

TEST(PlanMemoryTest, AliasBeyondItsRootMakesItLarger) {
  const std::vector<Buffer> buffers = {{.bytes = 10, .writers = {0}},
                                       {.bytes = 100, .writers = {1}, .alias = BufferAlias{0, 60}}};
  const StepOrder order(MakeSchedule({{}, {0}}, 1), 2);
  EXPECT_EQ(PlanMemory(buffers, order, kAlignment)->arena_bytes, 192);
}

TEST(PlanMemoryTest, ParallelStreamsShareNothing) {
  const std::vector<Buffer> buffers = {{.bytes = 64, .writers = {0}},
                                       {.bytes = 64, .writers = {1}}};
  EXPECT_EQ(PlanMemory(buffers, StepOrder(MakeSchedule({{}, {}}, 2), 2), 64)->arena_bytes, 128);
  EXPECT_EQ(PlanMemory(buffers, StepOrder(MakeSchedule({{}, {}}, 1), 2), 64)->arena_bytes, 64);
}

// The next three tests plant a bug that the checker must detect.
TEST(PlanMemoryTest, CheckerSeesPositionForHappensBefore) {
  std::mt19937 random(3);
  int seen = 0;
  for (int round = 0; round < 20; ++round) {
    const Case c = RandomCase(80, 4, /*aliases=*/false, random);
    Schedule by_position = c.schedule;
    by_position.streams = 1;
    for (ScheduledStep& scheduled : by_position.steps) scheduled = {scheduled.step, 0, {}};
    const StepOrder wrong(by_position, c.steps);
    seen += Clashes(c.buffers, *PlanMemory(c.buffers, wrong, kAlignment), c.order());
  }
  EXPECT_GT(seen, 0);
}

TEST(PlanMemoryTest, CheckerSeesADroppedWait) {
  std::mt19937 random(4);
  int seen = 0;
  for (int round = 0; round < 20; ++round) {
    Case c = RandomCase(80, 3, /*aliases=*/false, random);
    const MemoryPlan plan = *PlanMemory(c.buffers, c.order(), kAlignment);
    for (ScheduledStep& scheduled : c.schedule.steps) {
      if (scheduled.step % 5 == 0) scheduled.waits.clear();
    }
    seen += Clashes(c.buffers, plan, c.order());
  }
  EXPECT_GT(seen, 0);
}

TEST(PlanMemoryTest, CheckerSeesAnIgnoredAlias) {
  std::mt19937 random(5);
  int seen = 0;
  for (int round = 0; round < 20; ++round) {
    const Case c = RandomCase(80, 1, /*aliases=*/true, random);
    std::vector<Buffer> without = c.buffers;
    for (size_t i = 0; i < without.size(); ++i) {
      if (!without[i].alias.has_value()) continue;
      without[i] = {};  // its uses are not those of its root
    }
    MemoryPlan plan = *PlanMemory(without, c.order(), kAlignment);
    for (size_t i = 0; i < c.buffers.size(); ++i) {
      if (!c.buffers[i].alias.has_value()) continue;
      plan.offsets[i] = plan.offsets[c.buffers[i].alias->buffer] + c.buffers[i].alias->offset;
    }
    seen += Clashes(c.buffers, plan, c.order());
  }
  EXPECT_GT(seen, 0);
}

TEST(PlanMemoryTest, EqualInputsGiveEqualPlans) {
  std::mt19937 random(6);
  const Case c = RandomCase(200, 3, /*aliases=*/true, random);
  const MemoryPlan a = *PlanMemory(c.buffers, c.order(), kAlignment);
  EXPECT_EQ(a.offsets, PlanMemory(c.buffers, c.order(), kAlignment)->offsets);
}

std::string ErrorOf(const std::vector<Buffer>& buffers, int64_t alignment = 64) {
  const StepOrder order(MakeSchedule({{}, {0}}, 1), 2);
  const absl::Status status = PlanMemory(buffers, order, alignment).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(PlanMemoryTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf({{.bytes = -1}}), "buffer 0: size -1 is negative");
  EXPECT_EQ(ErrorOf({}, 48), "alignment 48 is not a power of two");
  EXPECT_EQ(ErrorOf({{.bytes = 1, .writers = {1}, .readers = {0}}}),
            "buffer 0: no writer precedes reader 0");
  EXPECT_EQ(ErrorOf({{.bytes = 1, .alias = BufferAlias{1, 0}}, {.alias = BufferAlias{0, 0}}}),
            "buffer 0: is an alias of itself");
  EXPECT_EQ(ErrorOf({{.bytes = 1, .alias = BufferAlias{3, 0}}}),
            "buffer 0: alias of buffer 3 among 1");
  EXPECT_EQ(ErrorOf({{.bytes = 1, .writers = {2}}}), "buffer 0: no step 2 among 2");
  EXPECT_EQ(ErrorOf({{.bytes = int64_t{1} << 62, .writers = {0}}}),
            "the buffers hold more than 2^62 bytes");
}

TEST(PlanMemoryTest, NothingToPlace) {
  const StepOrder order(MakeSchedule({{}}, 1), 1);
  EXPECT_EQ(PlanMemory({}, order, 64)->arena_bytes, 0);
  EXPECT_EQ(PlanMemory(std::vector<Buffer>{{.bytes = 0, .writers = {0}}}, order, 64)->arena_bytes,
            0);
}

// Half of the buffers live until the end. A quadratic algorithm would take minutes here.
TEST(PlanMemoryTest, PlansManyBuffersOnOneStreamQuickly) {
  constexpr int kBuffers = 100000;
  std::mt19937 random(8);
  std::vector<std::vector<int>> predecessors(kBuffers);
  std::vector<Buffer> buffers(kBuffers);
  for (int i = 0; i < kBuffers; ++i) {
    buffers[i] = {.bytes = static_cast<int64_t>(random() % 100000), .writers = {i}};
    if (i > 0) buffers[i - 1].readers.push_back(i);
    if (i % 2 == 0) buffers[i].readers.push_back(kBuffers - 1);
  }
  const auto start = std::chrono::steady_clock::now();
  const StepOrder order(MakeSchedule(predecessors, 1), kBuffers);
  const MemoryPlan plan = *PlanMemory(buffers, order, 256);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took, std::chrono::seconds(5));  // 0.1 s; sanitizers take their part
  EXPECT_GE(plan.arena_bytes, PeakBytes(buffers, order));
}

}  // namespace
}  // namespace onnx_cudnn

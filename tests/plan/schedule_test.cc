#include "runtime/plan/schedule.h"

#include <random>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

using Predecessors = std::vector<std::vector<int>>;

Predecessors RandomGraph(int steps, std::mt19937& random) {
  Predecessors predecessors(steps);
  for (int i = 1; i < steps; ++i) {
    const int count = static_cast<int>(random() % 3);
    for (int k = 0; k < count; ++k) {
      predecessors[i].push_back(i - 1 - static_cast<int>(random() % std::min(i, 8)));
    }
  }
  return predecessors;
}

// reachable[b][a]: a comes before b by the streams' order and the waits.
std::vector<std::vector<bool>> Reachable(const Schedule& schedule, int steps) {
  std::vector<std::vector<bool>> reachable(steps, std::vector<bool>(steps));
  std::vector<int> last(schedule.streams, -1);
  for (const ScheduledStep& scheduled : schedule.steps) {
    std::vector<int> before = scheduled.waits;
    if (last[scheduled.stream] >= 0) before.push_back(last[scheduled.stream]);
    for (int b : before) {
      reachable[scheduled.step][b] = true;
      for (int a = 0; a < steps; ++a) {
        if (reachable[b][a]) reachable[scheduled.step][a] = true;
      }
    }
    last[scheduled.stream] = scheduled.step;
  }
  return reachable;
}

TEST(MakeScheduleTest, OneStreamNeedsNoWaits) {
  const Schedule schedule = MakeSchedule(Predecessors{{}, {0}, {0}, {1, 2}}, 1);
  ASSERT_EQ(schedule.steps.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(schedule.steps[i].step, i);
    EXPECT_TRUE(schedule.steps[i].waits.empty());
  }
}

TEST(MakeScheduleTest, FollowsThePredecessorsStream) {  // a diamond
  const Schedule schedule = MakeSchedule(Predecessors{{}, {0}, {0}, {1}, {2}, {3, 4}}, 2);
  EXPECT_EQ(schedule.steps[1].stream, schedule.steps[0].stream);
  EXPECT_NE(schedule.steps[2].stream, schedule.steps[0].stream);
  EXPECT_EQ(schedule.steps[2].waits, (std::vector<int>{0}));
  EXPECT_EQ(schedule.steps[3].stream, schedule.steps[1].stream);
  EXPECT_EQ(schedule.steps[4].stream, schedule.steps[2].stream);
  EXPECT_EQ(schedule.steps[5].stream, schedule.steps[4].stream);  // 4 ended last
  EXPECT_EQ(schedule.steps[5].waits, (std::vector<int>{3}));
}

TEST(MakeScheduleTest, LeavesOutImpliedWaits) {  // 3 waits for 2, which came after 0
  const Schedule schedule = MakeSchedule(Predecessors{{}, {}, {0}, {1, 2, 0}}, 2);
  EXPECT_EQ(schedule.steps[3].stream, schedule.steps[2].stream);
  EXPECT_EQ(schedule.steps[3].waits, (std::vector<int>{1}));
}

TEST(MakeScheduleTest, TakesTheStreamThatWasIdleLongest) {
  const Schedule schedule = MakeSchedule(Predecessors{{}, {}, {1}, {}}, 2);
  EXPECT_EQ(schedule.steps[3].stream, schedule.steps[0].stream);
}

TEST(MakeScheduleTest, OrdersEveryPredecessorAndNeedsEveryWait) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const Predecessors predecessors = RandomGraph(40, random);
    Schedule schedule = MakeSchedule(predecessors, 1 + round % 4);
    const auto reachable = Reachable(schedule, 40);
    for (int i = 0; i < 40; ++i) {
      for (int p : predecessors[i]) EXPECT_TRUE(reachable[i][p]) << p << " before " << i;
    }
    for (ScheduledStep& scheduled : schedule.steps) {
      if (scheduled.waits.empty()) continue;
      const int dropped = scheduled.waits.back();
      scheduled.waits.pop_back();
      EXPECT_FALSE(Reachable(schedule, 40)[scheduled.step][dropped]);
      scheduled.waits.push_back(dropped);
    }
  }
}

TEST(StepOrderTest, AgreesWithReachability) {
  std::mt19937 random(11);
  for (int streams : {1, 2, 3, 5}) {
    const Schedule schedule = MakeSchedule(RandomGraph(60, random), streams);
    const auto reachable = Reachable(schedule, 60);
    const StepOrder order(schedule, 60);
    for (int a = 0; a < 60; ++a) {
      for (int b = 0; b < 60; ++b) EXPECT_EQ(order.HappensBefore(a, b), reachable[b][a]);
    }
  }
}

TEST(StepOrderTest, AStepIsNotBeforeItself) {
  const StepOrder order(MakeSchedule(Predecessors{{}}, 1), 1);
  EXPECT_FALSE(order.HappensBefore(0, 0));
}

TEST(MakeScheduleTest, NoStepsIsFine) { EXPECT_TRUE(MakeSchedule({}, 3).steps.empty()); }

}  // namespace
}  // namespace onnx_cudnn

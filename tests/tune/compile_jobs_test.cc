// What a Tuner compiles, in which order and until when.
#include "runtime/tune/compile_jobs.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"

namespace onnx_cudnn {
namespace {

using Job = CompileJobs::Job;
using Tasks = std::vector<size_t>;
constexpr absl::Duration kQuick = absl::Milliseconds(1), kSlow = absl::Seconds(1);

TEST(CompileJobsTest, FirstOnesComeFirstThenTaskByTaskSlowOnesLast) {
  CompileJobs jobs({2, 1, 3, 0});
  ASSERT_EQ(jobs.all(), 7u);
  for (size_t task = 0; task < 4; ++task) {
    EXPECT_EQ(jobs.Next(), (Job{task, 0}));
    jobs.End({task, 0}, /*began=*/true, task == 0 ? kSlow : kQuick);
  }
  for (const Job& job : {Job{2, 1}, Job{2, 2}, Job{0, 1}}) EXPECT_EQ(jobs.Next(), job);
}

TEST(CompileJobsTest, ATaskIsReadyWhenAllItsVariantsAre) {
  CompileJobs jobs({2, 1, 1});
  jobs.End({1, 0}, /*began=*/true, kQuick);
  jobs.End({0, 0}, /*began=*/true, kQuick);
  jobs.End({2, 0}, /*began=*/false, kQuick);  // was left out
  EXPECT_EQ(*jobs.TakeReady(8), Tasks{1});
  jobs.End({0, 1}, /*began=*/false, kQuick);
  jobs.Close();
  EXPECT_EQ(*jobs.TakeReady(8), Tasks{0});
  EXPECT_EQ(*jobs.TakeReady(8), Tasks{});
}

TEST(CompileJobsTest, TakesAtMostSoMany) {
  CompileJobs jobs({1, 1, 1});
  for (const size_t task : {2, 0, 1}) jobs.End({task, 0}, /*began=*/true, kQuick);
  EXPECT_EQ(*jobs.TakeReady(2), (Tasks{2, 0}));
  EXPECT_EQ(*jobs.TakeReady(2), Tasks{1});
}

TEST(CompilationsTest, NoneStartsAfterTheEndButOneThatAlwaysDoes) {
  Compilations late(absl::InfinitePast(), {});
  EXPECT_FALSE(late.Start());
  EXPECT_TRUE(late.Start(/*always=*/true));
  Compilations stopped(absl::InfiniteFuture(), {});
  EXPECT_TRUE(stopped.Start());
  stopped.Stop();
  EXPECT_FALSE(stopped.Start(/*always=*/true));
}

}  // namespace
}  // namespace onnx_cudnn

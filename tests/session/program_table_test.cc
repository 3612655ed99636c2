#include "runtime/session/program_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "runtime/exec/cpu_device.h"

namespace onnx_cudnn {
namespace {

class ProgramTableTest : public testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<ExecutorPool>> NewPool(int max_executors = 1) {
    return std::make_shared<ExecutorPool>(std::make_shared<const Program>(), *device_, constants_,
                                          max_executors);
  }

  std::unique_ptr<Device> device_ = MakeCpuDevice();
  ConstantStore constants_{*device_};
};

TEST_F(ProgramTableTest, OneBuilderPerKeyOtherThreadsShareItsResult) {
  ProgramTable table(4);
  std::atomic<int> builds = 0;
  std::vector<std::thread> threads;
  std::array<std::shared_ptr<ExecutorPool>, 4> pools;
  for (auto& pool : pools) {
    threads.emplace_back([&] {
      pool = *table.Get({{{1}}}, [&] {
        ++builds;
        return NewPool();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds, 1);
  for (const auto& pool : pools) EXPECT_EQ(pool, pools[0]);
}

// Each of two would wait for ever for what the other one holds.
TEST_F(ProgramTableTest, TwoCallersGetAllExecutorsOneAfterTheOther) {
  const auto pool = *NewPool(/*max_executors=*/3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        std::set<const Executor*> executors;
        const absl::Status all = pool->ForEach(5, [&](Executor& executor) {
          executors.insert(&executor);
          return absl::OkStatus();
        });
        EXPECT_TRUE(all.ok()) << all;
        EXPECT_EQ(executors.size(), 3u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->made(), 3);
}

TEST_F(ProgramTableTest, BuildingOneKeyDoesNotBlockAnother) {
  ProgramTable table(4);
  absl::Notification started, other_done;
  std::thread slow([&] {
    ASSERT_TRUE(table
                    .Get({{{1}}},
                         [&] {
                           started.Notify();
                           other_done.WaitForNotification();
                           return NewPool();
                         })
                    .ok());
  });
  started.WaitForNotification();
  EXPECT_TRUE(table.Get({{{2}}}, [&] { return NewPool(); }).ok());
  other_done.Notify();
  slow.join();
  EXPECT_EQ(table.held(), 2);
}

TEST_F(ProgramTableTest, FailuresAreNotKept) {
  ProgramTable table(4);
  const auto fail = []() -> absl::StatusOr<std::shared_ptr<ExecutorPool>> {
    return absl::UnimplementedError("no");
  };
  EXPECT_EQ(table.Get({{{1}}}, fail).status().message(), "no");
  EXPECT_EQ(table.held(), 0);
  EXPECT_TRUE(table.Get({{{1}}}, [&] { return NewPool(); }).ok());
}

TEST_F(ProgramTableTest, AThrowLeavesNoBuilderBehind) {
  ProgramTable table(4);
  const auto fail = []() -> absl::StatusOr<std::shared_ptr<ExecutorPool>> {
    throw std::bad_alloc();
  };
  EXPECT_THROW(static_cast<void>(table.Get({{{1}}}, fail)), std::bad_alloc);
  EXPECT_TRUE(table.Get({{{1}}}, [&] { return NewPool(); }).ok());
}

TEST_F(ProgramTableTest, AReplacedPoolLivesUntilItsLastLeaseIsOver) {
  ProgramTable table(4);
  const ProgramTable::Key key{{{1}}};
  EXPECT_EQ(table.Find(key), nullptr);
  std::shared_ptr<ExecutorPool> first = *table.Get(key, [&] { return NewPool(); });
  EXPECT_EQ(table.Find(key), first);
  const std::shared_ptr<ExecutorPool> second = *NewPool(), other = *NewPool();
  const std::weak_ptr<ExecutorPool> watched = first;
  {
    const ExecutorPool::Lease lease = *first->Acquire();
    EXPECT_FALSE(table.Replace(key, other, second));
    EXPECT_FALSE(table.Replace({{{2}}}, first, second));
    EXPECT_TRUE(table.Replace(key, first, second));
    EXPECT_EQ(*table.Get(key, [&] { return NewPool(); }), second);
    first = nullptr;
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(table.built(), 1);
}

// Destroying a Program frees memory of the device, which takes milliseconds.
TEST(SharedTableTest, NobodyWaitsForTheDestructionOfWhatIsDropped) {
  using Asks = std::function<void()>;
  SharedTable<int, int> table(/*capacity=*/1);
  bool answered = false;
  const Asks ask = [&] {
    const auto answer = std::make_shared<absl::Notification>();
    std::thread other([&table, answer] {
      static_cast<void>(table.held());
      answer->Notify();
    });
    answered = answer->WaitForNotificationWithTimeout(absl::Seconds(10));
    answered ? other.join() : other.detach();
  };
  for (const auto& [key, destroyed] : {std::pair{1, ask}, std::pair{2, Asks([] {})}}) {
    const auto build = [&destroyed = destroyed]() -> absl::StatusOr<std::shared_ptr<int>> {
      return std::shared_ptr<int>(new int(0), [destroyed](int* object) {
        delete object;
        destroyed();
      });
    };
    ASSERT_TRUE(table.Get(key, build).ok());
  }
  EXPECT_TRUE(answered);
}

TEST_F(ProgramTableTest, WhatIsBeingBuiltIsNotFound) {
  ProgramTable table(4);
  const ProgramTable::Key key{{{1}}};
  ASSERT_TRUE(table
                  .Get(key,
                       [&] {
                         EXPECT_EQ(table.Find(key), nullptr);
                         return NewPool();
                       })
                  .ok());
}

TEST_F(ProgramTableTest, AsManyExecutorsAreMadeReadyAsThePoolBeforeHas) {
  const std::shared_ptr<ExecutorPool> before = *NewPool(/*max_executors=*/3);
  const auto made_like_it = [&] {
    const std::shared_ptr<ExecutorPool> pool = *NewPool(/*max_executors=*/2);
    EXPECT_EQ(pool->made(), 0);
    EXPECT_TRUE(pool->MakeReady(*before).ok());
    EXPECT_TRUE(pool->Acquire().ok());
    return pool->made();
  };
  EXPECT_EQ(made_like_it(), 1);
  std::vector<ExecutorPool::Lease> leases;
  for (const int expected : {1, 2, 2}) {
    leases.push_back(*before->Acquire());
    EXPECT_EQ(made_like_it(), expected);
  }
  EXPECT_FALSE(before->stages());
}

TEST_F(ProgramTableTest, ExecutorsAreBoundedAndReused) {
  std::shared_ptr<ExecutorPool> pool = *NewPool(/*max_executors=*/1);
  const Executor* first;
  std::atomic<bool> second_came = false;
  std::thread waiting;
  {
    ExecutorPool::Lease lease = *pool->Acquire();
    first = &*lease;
    waiting = std::thread([&] {
      ExecutorPool::Lease second = *pool->Acquire();
      second_came = true;
      EXPECT_EQ(&*second, first);
    });
    EXPECT_FALSE(second_came);
  }
  waiting.join();
  EXPECT_TRUE(second_came);
}

}  // namespace
}  // namespace onnx_cudnn

#include "runtime/base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace onnx_cudnn {
namespace {

TEST(ThreadPoolTest, CoversEveryIndexOnceInRangesOfTheGrain) {
  ThreadPool pool(4);
  for (int64_t n : {0, 1, 7, 100, 1001}) {
    std::vector<std::atomic<int>> hits(n);
    std::mutex mutex;
    std::vector<std::pair<int64_t, int64_t>> ranges;
    pool.ParallelFor(n, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++hits[i];
      std::lock_guard lock(mutex);
      ranges.push_back({begin, end});
    });
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(hits[i], 1) << i << " of " << n;
    for (const auto& [begin, end] : ranges) EXPECT_TRUE(end - begin >= 10 || end == n);
  }
}

TEST(ThreadPoolTest, ServesSeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool.ParallelFor(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 4 * 50 * 100);
}

TEST(ThreadPoolTest, ALoopInsideALoopRunsOnItsCaller) {
  ThreadPool pool(4);
  std::atomic<int> elsewhere = 0;
  pool.ParallelFor(8, 1, [&](int64_t, int64_t) {
    const std::thread::id self = std::this_thread::get_id();
    pool.ParallelFor(1000, 1,
                     [&](int64_t, int64_t) { elsewhere += std::this_thread::get_id() != self; });
  });
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPoolTest, WhatABodyThrowsReachesTheCaller) {
  ThreadPool pool(4);
  for (int64_t bad : {0, 500, 999}) {
    const auto body = [&](int64_t begin, int64_t end) {
      if (begin <= bad && bad < end) throw std::bad_alloc();
    };
    EXPECT_THROW(pool.ParallelFor(1000, 1, body), std::bad_alloc);
  }
  std::atomic<int64_t> sum = 0;
  pool.ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 1000);  // the pool serves on
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they place the stacks
TEST(ThreadPoolTest, ACallerWorksAloneWhereNoThreadStarts) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);  // of all address space
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  ThreadPool pool(4);
  int64_t sum = 0;
  pool.ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(sum, 1000);
}
#endif

// Of this process.
int Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

TEST(ThreadPoolTest, StartsThreadsOnlyForLoopsThatMayUseThem) {
  const int before = Threads();
  ThreadPool pool(8);
  EXPECT_EQ(Threads(), before);
  const auto loop = [&](int limit) {
    const ThreadPool::Limit most(limit);
    pool.ParallelFor(1000, 1, [](int64_t, int64_t) {});
    return Threads() - before;
  };
  EXPECT_EQ(loop(1), 0);
  EXPECT_EQ(loop(3), 2);
  EXPECT_EQ(loop(2), 2);
  EXPECT_EQ(loop(0), 7);
}

TEST(ThreadPoolTest, ItsThreadsLeaveSignalsToTheOthers) {
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> helped = false, blocks = false, keeps_faults = false;
  while (!helped) {
    pool.ParallelFor(8, 1, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::this_thread::get_id() == caller) return;
      sigset_t blocked;
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      blocks = sigismember(&blocked, SIGINT) == 1;
      keeps_faults = sigismember(&blocked, SIGSEGV) == 0;
      helped = true;
    });
  }
  EXPECT_TRUE(blocks);
  EXPECT_TRUE(keeps_faults);
  sigset_t callers;
  pthread_sigmask(SIG_BLOCK, nullptr, &callers);
  EXPECT_EQ(sigismember(&callers, SIGINT), 0);
}

TEST(ThreadPoolTest, HasAtLeastOneThread) {
  EXPECT_EQ(ThreadPool(0).threads(), 1);
  EXPECT_GE(ThreadPool::Default().threads(), 1);
}

TEST(ThreadPoolTest, ALimitHoldsForLoopsOfItsThread) {
  ThreadPool pool(4);
  std::mutex mutex;
  const auto threads_of_a_loop = [&] {
    std::set<std::thread::id> ids;
    pool.ParallelFor(64, 1, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    return ids.size();
  };
  EXPECT_GT(threads_of_a_loop(), 2u);
  {
    const ThreadPool::Limit two(2);
    EXPECT_EQ(ThreadPool::limit(), 2);
    EXPECT_LE(threads_of_a_loop(), 2u);
    const ThreadPool::Limit one(1);
    EXPECT_EQ(threads_of_a_loop(), 1u);
    const ThreadPool::Limit all(0);
    EXPECT_GT(threads_of_a_loop(), 2u);
  }
  EXPECT_EQ(ThreadPool::limit(), 0);
  EXPECT_GT(threads_of_a_loop(), 2u);
}

}  // namespace
}  // namespace onnx_cudnn

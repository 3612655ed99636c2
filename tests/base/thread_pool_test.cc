#include "runtime/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
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

TEST(ThreadPoolTest, HasAtLeastOneThread) {
  EXPECT_EQ(ThreadPool(0).threads(), 1);
  EXPECT_GE(ThreadPool::Default().threads(), 1);
}

}  // namespace
}  // namespace onnx_cudnn

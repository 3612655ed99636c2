#include "runtime/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/blocked_signals.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kRangesPerThread = 4;  // balances ranges of unequal cost

thread_local bool inside_loop = false;
thread_local int limit_of_thread = 0;  // 0: no limit

struct Loop {
  int64_t n;
  int64_t range;
  absl::FunctionRef<void(int64_t, int64_t)> body;
  int may_join = 0;  // in addition to the caller's; guarded by State::mutex
  std::atomic<int64_t> next = 0;
  int helpers = 0;  // threads in Work other than the caller's; guarded by State::mutex
  std::once_flag threw;
  std::exception_ptr exception;  // the first

  void Work() {
    inside_loop = true;
    try {
      while (true) {
        const int64_t begin = next.fetch_add(range, std::memory_order_relaxed);
        if (begin >= n) break;
        body(begin, std::min(begin + range, n));
      }
    } catch (...) {
      std::call_once(threw, [&] { exception = std::current_exception(); });
      next = n;
    }
    inside_loop = false;
  }
};

}  // namespace

struct ThreadPool::State {
  explicit State(int most) : most_helpers(most - 1) { threads.reserve(most_helpers); }

  std::mutex mutex;
  std::condition_variable work, helped;
  std::list<Loop*> loops;  // loops that may have ranges left
  bool stop = false;
  int wanted = 0;  // helpers that the loops in progress may use
  int most_helpers;
  std::vector<std::thread> threads;

  // Requires the mutex. A process that limits its loops to few threads gets no more than those.
  void StartWanted() {
    while (static_cast<int>(threads.size()) < std::min(wanted, most_helpers)) {
      const ScopedBlockedSignals blocked;
      try {
        threads.emplace_back([this] { Serve(); });
        // If the process cannot start more threads, those that run and the caller's do the work.
      } catch (const std::exception&) {
        most_helpers = static_cast<int>(threads.size());
      }
    }
  }

  void Serve() {
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [this] { return stop || !loops.empty(); });
      if (stop) return;
      Loop* loop = loops.front();
      ++loop->helpers;
      if (--loop->may_join == 0) loops.pop_front();
      lock.unlock();
      loop->Work();
      lock.lock();
      loops.remove(loop);
      if (--loop->helpers == 0) helped.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(threads, 1)), state_(std::make_unique<State>(threads_)) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->work.notify_all();
  for (std::thread& t : state_->threads) t.join();
}

void ThreadPool::ParallelFor(int64_t n, int64_t grain,
                             absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int threads = limit_of_thread == 0 ? threads_ : std::min(threads_, limit_of_thread);
  const int64_t ranges = std::min(n / grain, threads * kRangesPerThread);
  if (threads == 1 || ranges <= 1 || inside_loop) return body(0, n);
  Loop loop{.n = n, .range = (n - 1) / ranges + 1, .body = body, .may_join = threads - 1};
  {
    std::lock_guard lock(state_->mutex);
    state_->loops.push_back(&loop);
    state_->wanted += threads - 1;
    state_->StartWanted();
  }
  state_->work.notify_all();
  loop.Work();
  std::unique_lock lock(state_->mutex);
  state_->loops.remove(&loop);
  state_->helped.wait(lock, [&] { return loop.helpers == 0; });
  state_->wanted -= threads - 1;
  if (loop.exception) std::rethrow_exception(loop.exception);
}

ThreadPool::Limit::Limit(int most) : before_(limit_of_thread) { limit_of_thread = most; }
ThreadPool::Limit::~Limit() { limit_of_thread = before_; }

int ThreadPool::limit() { return limit_of_thread; }

ThreadPool& ThreadPool::Default() {
  // Never destroyed, because destructors of other static objects may still run a loop.
  static ThreadPool* const pool =
      new ThreadPool(static_cast<int>(std::thread::hardware_concurrency()));
  return *pool;
}

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"

namespace onnx_cudnn {

// A fixed set of threads for loops over independent ranges, fewer where the system starts no more.
// Any number of callers may use one pool at once.
class ThreadPool {
 public:
  // threads  how many run a loop, the caller among them; ≥ 1
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(begin, end) over disjoint ranges that cover [0, n), each but the last at least
  // `grain` long, and returns when all are done. The caller takes part; a loop inside a loop runs
  // on its caller alone. Throws what `body` threw first; ranges are then left out.
  void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

  // The process's pool for references: one thread a core, made at first use.
  static ThreadPool& Default();

  // While it lives, a loop that this thread begins, of any pool, runs on at most `most` threads,
  // the caller among them; 0: on all. The innermost Limit holds.
  class Limit {
   public:
    explicit Limit(int most);
    ~Limit();
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

   private:
    const int before_;
  };
  static int limit();  // of this thread; 0: none

 private:
  struct State;
  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace onnx_cudnn

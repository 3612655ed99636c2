#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// Threads for loops over independent ranges, started when a loop may use them; fewer if the system
// refuses to start more. They block signals (blocked_signals.h). Any number of callers may use one
// pool at once.
class ThreadPool : NotCopyable {
 public:
  // threads  how many may run a loop, including the caller; ≥ 1
  explicit ThreadPool(int threads);
  ~ThreadPool();

  int threads() const { return threads_; }  // as asked for, even if the system refused some

  // Calls body(begin, end) over disjoint ranges that cover [0, n), each at least `grain` long
  // except the last, and returns when all are done. The calling thread takes part; a nested loop
  // runs on its calling thread alone. Rethrows the first exception of `body`; the remaining ranges
  // are then skipped.
  void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

  // The pool of the process for references: one thread per core at most.
  static ThreadPool& Default();

  // While it lives, loops that this thread starts, on any pool, use at most `most` threads,
  // including the caller; 0: no limit. The innermost Limit applies.
  class Limit : NotCopyable {
   public:
    explicit Limit(int most);
    ~Limit();

   private:
    const int before_;
  };
  static int limit();  // of this thread; 0: none

 private:
  struct State;
  const int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace onnx_cudnn

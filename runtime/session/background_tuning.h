#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/program_table.h"

namespace onnx_cudnn {

// Tunes Programs that serve already, one after the other, on a thread of its own. Thread-safe.
class BackgroundTuning {
 public:
  using Key = ProgramTable::Key;
  // What the thread does with a key. Throws nothing, and returns soon once `stop` is set.
  using Tune = std::function<void(const Key& key, const std::atomic<bool>& stop)>;

  // interrupt     called by Stop after it set `stop`: ends what `tune` may wait for
  // most_waiting  keys, ≥ 1, beside the one that is being tuned
  BackgroundTuning(Tune tune, std::function<void()> interrupt, int most_waiting);
  ~BackgroundTuning() { Stop(); }

  // Puts `key` at the end of the queue, unless it stands there. false: the queue is full.
  bool Add(const Key& key);
  // Drops the queue and returns when the thread has ended. One call at a time, any number of them.
  void Stop();

 private:
  void Serve();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || !waiting_.empty(); }

  const Tune tune_;
  const std::function<void()> interrupt_;
  const size_t most_waiting_;
  std::atomic<bool> stop_ = false;
  absl::Mutex mutex_;
  std::deque<Key> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace onnx_cudnn

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/program_table.h"

namespace onnx_cudnn {

// A thread with a queue of keys whose Programs it tunes one after the other. Thread-safe.
class BackgroundTuning {
 public:
  using Key = ProgramTable::Key;
  // What the thread does with a key. Throws nothing, and returns soon once `stop` is set.
  using Tune = std::function<void(const Key& key, const std::atomic<bool>& stop)>;

  //   interrupt     called by Stop after it set `stop`: ends what `tune` may wait for
  //   most_waiting  length of the queue, ≥ 1; the key that is being tuned is not in it
  BackgroundTuning(Tune tune, std::function<void()> interrupt, int most_waiting);
  ~BackgroundTuning() { Stop(); }

  // Puts `key` at the end of the queue unless it is in it. false: the queue is full.
  bool Add(const Key& key);
  // Drops the queue and returns when the thread has ended. May be called again, by one thread at a
  // time.
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

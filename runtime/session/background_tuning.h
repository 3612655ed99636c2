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
  // Tunes the Program of a key. Must not throw, and must return soon after `stop` is set.
  using Tune = std::function<void(const Key& key, const std::atomic<bool>& stop)>;

  // interrupt     called by Stop after it has set `stop`; wakes `tune` if it waits
  // most_waiting  capacity of the queue, ≥ 1, without the key being tuned
  BackgroundTuning(Tune tune, std::function<void()> interrupt, int most_waiting);
  ~BackgroundTuning() { Stop(); }

  // Appends `key` unless it is in the queue. Returns false if the queue is full.
  bool Add(const Key& key);
  // Clears the queue and waits for the thread to end. May be called again, by one thread at a time.
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
  std::thread thread_;  // last member, because it uses the others
};

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/progress.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

// Objects by key, each built once for all callers, at most `capacity`: a further one replaces the
// least recently used. Thread-safe.
template <typename K, typename T>
class SharedTable {
 public:
  using Build = absl::FunctionRef<absl::StatusOr<std::shared_ptr<T>>()>;

  explicit SharedTable(int64_t capacity) : capacity_(capacity) {}

  // The object of `key`. If there is none, `build` creates it without holding the lock: callers
  // with the same key wait and share the result, others are not blocked. A failure is not kept.
  // Where `build` returns Cancelled, one of those that wait calls its own.
  //   errors  those of `build`; Cancelled: the call in progress on this thread
  absl::StatusOr<std::shared_ptr<T>> Get(const K& key, Build build);
  // The object of `key`, without marking it as used; nullptr: none, or it is being built.
  std::shared_ptr<T> Find(const K& key) const;
  // Replaces the object of `key`. Returns false if that is no longer `object`.
  bool Replace(const K& key, const std::shared_ptr<T>& object, std::shared_ptr<T> with);
  // Makes the capacity at least `capacity`.
  void Reserve(int64_t capacity);

  int64_t built() const;
  int64_t held() const;

 private:
  struct Entry {
    bool done = false;
    absl::StatusOr<std::shared_ptr<T>> object = absl::InternalError("building was abandoned");
    uint64_t last_use = 0;
  };
  void Finish(const K& key, Entry& entry);
  // Returns what it drops, so that it is destroyed without holding the lock.
  std::vector<std::shared_ptr<Entry>> DropOldest(const Entry& keep)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  int64_t capacity_ ABSL_GUARDED_BY(mutex_);
  std::map<K, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t clock_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t built_ ABSL_GUARDED_BY(mutex_) = 0;
};

template <typename K, typename T>
absl::StatusOr<std::shared_ptr<T>> SharedTable<K, T>::Get(const K& key, Build build) {
  std::shared_ptr<Entry> entry;
  while (true) {
    const PhaseTimer timer(RunPhase::kLock);
    absl::MutexLock lock(mutex_);
    auto [it, is_new] = entries_.try_emplace(key);
    if (is_new) it->second = std::make_shared<Entry>();
    entry = it->second;
    entry->last_use = ++clock_;
    if (is_new) break;
    RETURN_IF_ERROR(AwaitUnlessCancelled(mutex_, absl::Condition(&entry->done)));
    // Where the caller that was building it was cancelled, the first of the others builds it.
    if (!absl::IsCancelled(entry->object.status())) return entry->object;
  }
  // Also runs if `build` throws, because other callers of `key` wait for it.
  absl::Cleanup finish = [&] { Finish(key, *entry); };
  entry->object = build();
  return entry->object;
}

template <typename K, typename T>
std::shared_ptr<T> SharedTable<K, T>::Find(const K& key) const {
  absl::MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second->done) return nullptr;
  return *it->second->object;
}

template <typename K, typename T>
bool SharedTable<K, T>::Replace(const K& key, const std::shared_ptr<T>& object,
                                std::shared_ptr<T> with) {
  absl::MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second->done || *it->second->object != object) return false;
  it->second->object = std::move(with);
  return true;
}

template <typename K, typename T>
void SharedTable<K, T>::Reserve(int64_t capacity) {
  absl::MutexLock lock(mutex_);
  if (capacity > capacity_) capacity_ = capacity;
}

template <typename K, typename T>
void SharedTable<K, T>::Finish(const K& key, Entry& entry) {
  std::vector<std::shared_ptr<Entry>> dropped;  // destroyed after the lock is released
  absl::MutexLock lock(mutex_);
  entry.done = true;
  if (!entry.object.ok()) {
    entries_.erase(key);
    return;
  }
  ++built_;
  dropped = DropOldest(entry);
}

template <typename K, typename T>
auto SharedTable<K, T>::DropOldest(const Entry& keep) -> std::vector<std::shared_ptr<Entry>> {
  std::vector<std::shared_ptr<Entry>> dropped;
  while (static_cast<int64_t>(entries_.size()) > capacity_) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (!it->second->done || it->second.get() == &keep) continue;
      if (oldest == entries_.end() || it->second->last_use < oldest->second->last_use) oldest = it;
    }
    if (oldest == entries_.end()) break;  // all others are being built: the last of them drops one
    dropped.push_back(std::move(oldest->second));
    entries_.erase(oldest);
  }
  return dropped;
}

template <typename K, typename T>
int64_t SharedTable<K, T>::built() const {
  absl::MutexLock lock(mutex_);
  return built_;
}

template <typename K, typename T>
int64_t SharedTable<K, T>::held() const {
  absl::MutexLock lock(mutex_);
  return static_cast<int64_t>(entries_.size());
}

}  // namespace onnx_cudnn

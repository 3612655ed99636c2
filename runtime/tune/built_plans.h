#pragma once

#include <list>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {

// Choices by signature, with their compiled Steps; keeps the most recently used ones. Thread-safe.
class BuiltPlans {
 public:
  explicit BuiltPlans(size_t most) : most_(most) {}

  std::optional<Choice> Find(const std::string& signature) {
    absl::MutexLock lock(mutex_);
    const auto found = by_signature_.find(signature);
    if (found == by_signature_.end()) return std::nullopt;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }

  void Put(const std::string& signature, Choice choice) {
    absl::MutexLock lock(mutex_);
    const auto found = by_signature_.find(signature);
    if (found != by_signature_.end()) {
      order_.erase(found->second);
      by_signature_.erase(found);
    }
    order_.emplace_front(signature, std::move(choice));
    by_signature_[signature] = order_.begin();
    if (order_.size() <= most_) return;
    by_signature_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  using Order = std::list<std::pair<std::string, Choice>>;  // most recently used first
  const size_t most_;
  absl::Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Order::iterator> by_signature_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

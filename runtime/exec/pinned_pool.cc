#include "runtime/exec/pinned_pool.h"

#include <iterator>
#include <utility>

#include "runtime/base/status.h"

namespace onnx_cudnn {

PinnedPool::PinnedPool(Device& device, Fit fit)
    : device_(device), most_times_larger_(fit == Fit::kLoose ? 2 : 1) {}

void PinnedPool::Admit(int64_t bytes) {
  absl::MutexLock lock(mutex_);
  most_bytes_ += most_times_larger_ * bytes;
}

void PinnedPool::Dismiss(int64_t bytes) {
  Blocks freed;
  absl::MutexLock lock(mutex_);
  most_bytes_ -= most_times_larger_ * bytes;
  freed = Drop(most_bytes_);
}

// What others have borrowed fits what they may, so that without kept blocks there is room.
absl::StatusOr<std::shared_ptr<std::byte>> PinnedPool::Borrow(int64_t bytes) {
  std::shared_ptr<std::byte> block;
  int64_t block_bytes = bytes;
  {
    Blocks freed;
    absl::MutexLock lock(mutex_);
    const auto fit = kept_.lower_bound(bytes);
    if (fit != kept_.end() && fit->first <= most_times_larger_ * bytes) {
      block_bytes = fit->first;
      block = std::move(fit->second);
      kept_.erase(fit);
    } else {
      freed = Drop(most_bytes_ - bytes);
      bytes_ += bytes;
    }
  }
  if (block == nullptr) {
    ASSIGN_OR_RETURN(block, Pin(bytes));
  }
  std::byte* const data = block.get();
  return std::shared_ptr<std::byte>(
      data, [this, block_bytes, block = std::move(block)](std::byte*) mutable {
        Keep(block_bytes, std::move(block));
      });
}

absl::StatusOr<std::shared_ptr<std::byte>> PinnedPool::Pin(int64_t bytes) {
  absl::StatusOr<std::shared_ptr<std::byte>> block = device_.Allocate(bytes, Space::kHost);
  if (absl::IsResourceExhausted(block.status())) {
    {
      Blocks freed;
      absl::MutexLock lock(mutex_);
      freed = Drop(0);
    }
    block = device_.Allocate(bytes, Space::kHost);
  }
  if (block.ok()) return block;
  absl::MutexLock lock(mutex_);
  bytes_ -= bytes;
  return block;
}

void PinnedPool::Keep(int64_t bytes, std::shared_ptr<std::byte> block) {
  Blocks freed;
  absl::MutexLock lock(mutex_);
  kept_.emplace(bytes, std::move(block));
  freed = Drop(most_bytes_);
}

PinnedPool::Blocks PinnedPool::Drop(int64_t most) {
  Blocks dropped;
  while (bytes_ > most && !kept_.empty()) {
    const auto largest = std::prev(kept_.end());
    bytes_ -= largest->first;
    dropped.insert(kept_.extract(largest));
  }
  return dropped;
}

int64_t PinnedPool::bytes() const {
  absl::MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace onnx_cudnn

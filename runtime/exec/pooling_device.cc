#include "runtime/exec/pooling_device.h"

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using Blocks = std::multimap<int64_t, std::shared_ptr<std::byte>>;  // by bytes

}  // namespace

struct PoolingDevice::Pool {
  absl::Mutex mutex;
  Blocks on_device ABSL_GUARDED_BY(mutex), on_host ABSL_GUARDED_BY(mutex);

  Blocks& Kept(Space space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return space == Space::kHost ? on_host : on_device;
  }
  // Takes a block of at most twice the requested size. On the device only one of exactly that size,
  // so that out-of-bounds accesses of a kernel leave the allocation and are detected.
  Blocks::node_type Take(int64_t bytes, Space space) {
    const int64_t most = space == Space::kHost ? 2 * bytes : bytes;
    absl::MutexLock lock(mutex);
    Blocks& kept = Kept(space);
    const auto it = kept.lower_bound(bytes);
    if (it == kept.end() || it->first > most) return {};
    return kept.extract(it);
  }
  void Keep(int64_t bytes, std::shared_ptr<std::byte> block, Space space) {
    absl::MutexLock lock(mutex);
    Kept(space).emplace(bytes, std::move(block));
  }
};

PoolingDevice::PoolingDevice(Device& device) : device_(device), pool_(std::make_shared<Pool>()) {}

PoolingDevice::~PoolingDevice() = default;

absl::StatusOr<std::shared_ptr<std::byte>> PoolingDevice::Allocate(int64_t bytes, Space space) {
  Blocks::node_type kept = pool_->Take(bytes, space);
  int64_t block_bytes = bytes;
  std::shared_ptr<std::byte> block;
  if (!kept.empty()) {
    block_bytes = kept.key();
    block = std::move(kept.mapped());
  } else {
    absl::StatusOr<std::shared_ptr<std::byte>> made = device_.Allocate(bytes, space);
    if (absl::IsResourceExhausted(made.status())) {
      FreeKept(space);
      made = device_.Allocate(bytes, space);
    }
    ASSIGN_OR_RETURN(block, std::move(made));
  }
  std::byte* const data = block.get();
  const auto give_back = [pool = std::weak_ptr<Pool>(pool_), block = std::move(block), block_bytes,
                          space](std::byte*) mutable {
    if (const auto owner = pool.lock()) owner->Keep(block_bytes, std::move(block), space);
  };
  return std::shared_ptr<std::byte>(data, give_back);
}

absl::StatusOr<std::shared_ptr<const std::byte>> PoolingDevice::Upload(const HostTensor& tensor,
                                                                       Space space) {
  absl::StatusOr<std::shared_ptr<const std::byte>> copy = device_.Upload(tensor, space);
  if (!absl::IsResourceExhausted(copy.status())) return copy;
  FreeKept(space);
  return device_.Upload(tensor, space);
}

void PoolingDevice::FreeKept(Space space) {
  Blocks blocks;  // freed without holding the lock
  absl::MutexLock lock(pool_->mutex);
  blocks.swap(pool_->Kept(space));
}

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/not_copyable.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Host memory of a Device that the Runs of several Executors borrow, one block each. Pinning takes
// a third to half of a millisecond per megabyte, so blocks are kept for later Runs, also those of
// other shapes. Thread-safe.
class PinnedPool : NotCopyable {
 public:
  enum class Fit : uint8_t {
    kExact,  // a Run gets a block of the size that it needs
    kLoose,  // or of up to twice that size
  };
  explicit PinnedPool(Device& device, Fit fit = Fit::kLoose);  // `device` must outlive it

  // An Executor begins or ends whose Runs borrow up to `bytes`, one at a time. All blocks together,
  // lent and kept, take no more than the Executors that there are would take in all, with kLoose
  // twice as much.
  void Admit(int64_t bytes);
  void Dismiss(int64_t bytes);

  // At least `bytes`, 256-byte aligned; the last owner gives it back, before the pool is destroyed.
  //   errors  ResourceExhausted, when nothing is kept any more
  absl::StatusOr<std::shared_ptr<std::byte>> Borrow(int64_t bytes);

  int64_t bytes() const;  // of all blocks

 private:
  using Blocks = std::multimap<int64_t, std::shared_ptr<std::byte>>;  // by bytes

  void Keep(int64_t bytes, std::shared_ptr<std::byte> block);
  // Takes out kept blocks, the largest first, until all together have at most `most` bytes. The
  // caller frees them without the lock.
  Blocks Drop(int64_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Pins a block that `bytes_` counts already.
  absl::StatusOr<std::shared_ptr<std::byte>> Pin(int64_t bytes);

  Device& device_;
  const int64_t most_times_larger_;
  mutable absl::Mutex mutex_;
  int64_t most_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Blocks kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

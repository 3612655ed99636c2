// A loaded model on each device of a Session, and which of them runs next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// Thread-safe.
class ModelReplicas {
 public:
  // A replica that has one more Run while this lives.
  class Lease {
   public:
    Lease(const ModelReplicas& owner, size_t index) : owner_(&owner), index_(index) {}
    Lease(Lease&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), index_(other.index_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (owner_ != nullptr) owner_->End(index_);
    }
    const std::shared_ptr<const LoadedModel>& model() const { return owner_->models_[index_]; }

   private:
    const ModelReplicas* owner_;
    size_t index_;
  };

  //   models  at least one, of equal inputs and outputs
  //   reruns  whether a Run whose device is lost may run again on another one
  explicit ModelReplicas(std::vector<std::shared_ptr<const LoadedModel>> models,
                         bool reruns = false);

  // The replica in whose memory the first argument in a GPU's memory lies; without one, the one
  // with the fewest Runs, then with the fewest so far.
  //   errors  FailedPrecondition: that device is lost, or all are
  absl::StatusOr<Lease> Acquire(absl::Span<const DeviceRef> arguments) const;
  // The one that Acquire would take, which has no more Runs by it.
  absl::StatusOr<std::shared_ptr<const LoadedModel>> Next(
      absl::Span<const DeviceRef> arguments) const;
  // Whether a Run of this replica that failed is to run again.
  bool ShouldRerun(const Lease& lease) const;

  const std::shared_ptr<const LoadedModel>& first() const { return models_[0]; }
  // On that device; nullptr: there is none.
  std::shared_ptr<const LoadedModel> On(const DeviceRef& device) const;
  const std::vector<std::shared_ptr<const LoadedModel>>& models() const { return models_; }
  // The sums of the replicas; what has no sum is the first one's.
  SessionStats stats() const;

 private:
  using Models = std::vector<std::shared_ptr<const LoadedModel>>;
  struct Load {
    int64_t running = 0, runs = 0;
  };
  void End(size_t index) const;
  Models::const_iterator Find(const DeviceRef& device) const;  // its end: there is none
  absl::StatusOr<size_t> Choose(absl::Span<const DeviceRef> arguments) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The least loaded one that is not lost; nullopt: all are.
  std::optional<size_t> LeastLoaded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Models models_;
  const bool reruns_;
  mutable absl::Mutex mutex_;
  mutable std::vector<Load> loads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

#include "runtime/session/program_table.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "runtime/base/progress.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

ExecutorPool::ExecutorPool(std::shared_ptr<const Program> program, Device& device,
                           ConstantStore& constants, int max_executors, ExecutorOptions options)
    : program_(std::move(program)),
      device_(device),
      constants_(constants),
      max_executors_(max_executors),
      options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorPool::MakeExecutor() const {
  return Executor::Create(program_, device_, constants_, FixedPointers());
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorPool::MakeTimingExecutor() const {
  ExecutorOptions options = FixedPointers();
  options.times_steps = true;
  return Executor::Create(program_, device_, constants_, options);
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorPool::MakeMovingTimingExecutor() const {
  ExecutorOptions options = options_;
  options.times_steps = true;
  ASSIGN_OR_RETURN(auto executor, Executor::Create(program_, device_, constants_, options));
  executor->SetWaitsToCapture(true);
  return executor;
}

ExecutorOptions ExecutorPool::FixedPointers() const {
  ExecutorOptions options = options_;
  options.fixed_pointers = true;
  return options;
}

absl::StatusOr<ExecutorPool::Lease> ExecutorPool::Acquire() {
  {
    const PhaseTimer timer(RunPhase::kLock);
    absl::MutexLock lock(mutex_);
    RETURN_IF_ERROR(AwaitUnlessCancelled(mutex_, absl::Condition(this, &ExecutorPool::HasRoom)));
    if (!idle_.empty()) {
      std::unique_ptr<Executor> executor = std::move(idle_.back());
      idle_.pop_back();
      return Lease(shared_from_this(), std::move(executor));
    }
    ++made_;
  }
  const PhaseTimer timer(RunPhase::kExecutor);
  absl::Cleanup give_room_back = [this] { Release(nullptr); };
  ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                   Executor::Create(program_, device_, constants_, options_));
  std::move(give_room_back).Cancel();
  return Lease(shared_from_this(), std::move(executor));
}

int ExecutorPool::made() const {
  absl::MutexLock lock(mutex_);
  return made_;
}

bool ExecutorPool::stages() const {
  absl::MutexLock lock(mutex_);
  return stages_;
}

absl::Status ExecutorPool::ForEach(int count, absl::FunctionRef<absl::Status(Executor&)> body) {
  const absl::MutexLock all(all_mutex_);
  std::vector<Lease> leases;
  for (int i = 0; i < std::min(count, max_executors_); ++i) {
    ASSIGN_OR_RETURN(Lease lease, Acquire());
    RETURN_IF_ERROR(body(*lease));
    leases.push_back(std::move(lease));
  }
  return absl::OkStatus();
}

absl::Status ExecutorPool::MakeReady(const ExecutorPool& like) {
  return ForEach(std::max(like.made(), 1), [&](Executor& executor) {
    return like.stages() ? executor.ReserveStaging() : absl::OkStatus();
  });
}

void ExecutorPool::Release(std::unique_ptr<Executor> executor) {
  absl::MutexLock lock(mutex_);
  if (executor == nullptr) {
    --made_;
  } else {
    stages_ |= executor->staging_bytes() > 0;
    idle_.push_back(std::move(executor));
  }
}

ExecutorPool::Lease::Lease(std::shared_ptr<ExecutorPool> pool, std::unique_ptr<Executor> executor)
    : pool_(std::move(pool)), executor_(std::move(executor)) {}

ExecutorPool::Lease::~Lease() {
  if (executor_ != nullptr) pool_->Release(std::move(executor_));
}

}  // namespace onnx_cudnn

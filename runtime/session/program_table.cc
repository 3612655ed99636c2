#include "runtime/session/program_table.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

ExecutorPool::ExecutorPool(std::shared_ptr<const Program> program, Device& device,
                           ConstantStore& constants, int max_executors, bool capture,
                           std::shared_ptr<ArenaLock> arena_lock)
    : program_(std::move(program)),
      device_(device),
      constants_(constants),
      max_executors_(max_executors),
      capture_(capture),
      arena_lock_(std::move(arena_lock)) {}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorPool::MakeExecutor() const {
  return Executor::Create(program_, device_, constants_,
                          {.capture = capture_, .fixed_pointers = true, .arena_lock = arena_lock_});
}

absl::StatusOr<ExecutorPool::Lease> ExecutorPool::Acquire() {
  {
    absl::MutexLock lock(mutex_);
    RETURN_IF_ERROR(AwaitUnlessCancelled(mutex_, absl::Condition(this, &ExecutorPool::HasRoom)));
    if (!idle_.empty()) {
      std::unique_ptr<Executor> executor = std::move(idle_.back());
      idle_.pop_back();
      return Lease(shared_from_this(), std::move(executor));
    }
    ++made_;
  }
  absl::Cleanup give_room_back = [this] { Release(nullptr); };
  ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                   Executor::Create(program_, device_, constants_,
                                    {.capture = capture_, .arena_lock = arena_lock_}));
  std::move(give_room_back).Cancel();
  return Lease(shared_from_this(), std::move(executor));
}

int ExecutorPool::made() const {
  absl::MutexLock lock(mutex_);
  return made_;
}

absl::Status ExecutorPool::MakeReady(int count) {
  std::vector<Lease> leases;
  for (int i = 0; i < std::min(count, max_executors_); ++i) {
    ASSIGN_OR_RETURN(Lease lease, Acquire());
    leases.push_back(std::move(lease));
  }
  return absl::OkStatus();
}

void ExecutorPool::Release(std::unique_ptr<Executor> executor) {
  absl::MutexLock lock(mutex_);
  if (executor == nullptr) {
    --made_;
  } else {
    idle_.push_back(std::move(executor));
  }
}

ExecutorPool::Lease::Lease(std::shared_ptr<ExecutorPool> pool, std::unique_ptr<Executor> executor)
    : pool_(std::move(pool)), executor_(std::move(executor)) {}

ExecutorPool::Lease::~Lease() {
  if (executor_ != nullptr) pool_->Release(std::move(executor_));
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> ProgramTable::Get(const Key& key, Build build) {
  std::shared_ptr<Entry> entry;
  while (true) {
    absl::MutexLock lock(mutex_);
    auto [it, is_new] = entries_.try_emplace(key);
    if (is_new) it->second = std::make_shared<Entry>();
    entry = it->second;
    entry->last_use = ++clock_;
    if (is_new) break;
    RETURN_IF_ERROR(AwaitUnlessCancelled(mutex_, absl::Condition(&entry->done)));
    // Where the caller that was building it was cancelled, the first of the others builds it.
    if (!absl::IsCancelled(entry->pool.status())) return entry->pool;
  }
  // Also runs if `build` throws, because other callers of `key` wait for it.
  absl::Cleanup finish = [&] { Finish(key, *entry); };
  entry->pool = build();
  return entry->pool;
}

std::shared_ptr<ExecutorPool> ProgramTable::Find(const Key& key) const {
  absl::MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second->done) return nullptr;
  return *it->second->pool;
}

bool ProgramTable::Replace(const Key& key, const std::shared_ptr<ExecutorPool>& pool,
                           std::shared_ptr<ExecutorPool> with) {
  absl::MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second->done || *it->second->pool != pool) return false;
  it->second->pool = std::move(with);
  return true;
}

void ProgramTable::Finish(const Key& key, Entry& entry) {
  absl::MutexLock lock(mutex_);
  entry.done = true;
  if (!entry.pool.ok()) {
    entries_.erase(key);
    return;
  }
  ++built_;
  DropOldest(entry);
}

void ProgramTable::DropOldest(const Entry& keep) {
  while (static_cast<int>(entries_.size()) > capacity_) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (!it->second->done || it->second.get() == &keep) continue;
      if (oldest == entries_.end() || it->second->last_use < oldest->second->last_use) oldest = it;
    }
    if (oldest == entries_.end())
      return;  // all others are being built: the last of them to finish drops one
    entries_.erase(oldest);
  }
}

int64_t ProgramTable::built() const {
  absl::MutexLock lock(mutex_);
  return built_;
}

int64_t ProgramTable::held() const {
  absl::MutexLock lock(mutex_);
  return static_cast<int64_t>(entries_.size());
}

}  // namespace onnx_cudnn

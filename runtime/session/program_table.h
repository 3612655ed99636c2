#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/executor.h"
#include "runtime/session/shared_table.h"

namespace onnx_cudnn {

// A Program with its Executors. Thread-safe. Owned by shared_ptr: a Program that is dropped from
// the table lives until its Runs end. The Device, the ConstantStore and what `options` point to
// must outlive it.
class ExecutorPool : public std::enable_shared_from_this<ExecutorPool> {
 public:
  //   options  of its Executors, without fixed pointers
  ExecutorPool(std::shared_ptr<const Program> program, Device& device, ConstantStore& constants,
               int max_executors, ExecutorOptions options = {});

  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& shared_program() const { return program_; }
  int max_executors() const { return max_executors_; }
  int made() const;     // Executors, leased or free
  bool stages() const;  // whether a Run that has ended needed copies of inputs and outputs
  // An Executor outside the pool that gets the same pointers in every Run.
  absl::StatusOr<std::unique_ptr<Executor>> MakeExecutor() const;
  // The same with ExecutorOptions::times_steps.
  absl::StatusOr<std::unique_ptr<Executor>> MakeTimingExecutor() const;
  // The same for pointers that differ from Run to Run.
  absl::StatusOr<std::unique_ptr<Executor>> MakeMovingTimingExecutor() const;

  // An Executor leased to one caller; the destructor returns it.
  class Lease {
   public:
    Lease(std::shared_ptr<ExecutorPool> pool, std::unique_ptr<Executor> executor);
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Executor& operator*() const { return *executor_; }

   private:
    std::shared_ptr<ExecutorPool> pool_;
    std::unique_ptr<Executor> executor_;
  };
  // Waits while all Executors are leased. Cancelled: the call in progress on this thread.
  absl::StatusOr<Lease> Acquire();
  // Calls `body` with `count` different Executors, one after the other, or with max_executors() if
  // these are fewer; creates those that are missing and waits for those that are leased.
  absl::Status ForEach(int count, absl::FunctionRef<absl::Status(Executor&)> body);
  // Creates as many Executors as `like` has, at least one and at most max_executors(), with copies
  // of inputs and outputs on the device if its Runs needed some. Call it before the pool is shared.
  absl::Status MakeReady(const ExecutorPool& like);

 private:
  bool HasRoom() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !idle_.empty() || made_ < max_executors_;
  }
  void Release(std::unique_ptr<Executor> executor);
  ExecutorOptions FixedPointers() const;

  const std::shared_ptr<const Program> program_;
  Device& device_;
  ConstantStore& constants_;
  const int max_executors_;
  const ExecutorOptions options_;
  absl::Mutex all_mutex_;  // of ForEach: two would wait for the Executors that the other one holds
  mutable absl::Mutex mutex_;
  int made_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stages_ ABSL_GUARDED_BY(mutex_) = false;  // a Run had tensors in host memory
  std::vector<std::unique_ptr<Executor>> idle_ ABSL_GUARDED_BY(mutex_);
};

// Values of inputs, by position.
struct InputValues {
  std::map<int, std::string> bytes;
  std::map<int, std::vector<std::string>> strings;
  auto operator<=>(const InputValues&) const = default;
};

struct ProgramKey {
  std::vector<Dims> dims;  // of the inputs
  InputValues values;      // of inputs whose values decide shapes, and of all string inputs
  auto operator<=>(const ProgramKey&) const = default;
};

// A Session's Programs.
class ProgramTable : public SharedTable<ProgramKey, ExecutorPool> {
 public:
  using Key = ProgramKey;
  using SharedTable::SharedTable;
};

}  // namespace onnx_cudnn

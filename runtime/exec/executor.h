#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/arena_lock.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/exec/fault_words.h"
#include "runtime/exec/pinned_pool.h"
#include "runtime/exec/staging.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

struct ExecutorOptions {
  // Captures the launches of the second Run if the Device can, and replays the capture in later
  // Runs. The first Run triggers lazy loading, which is not allowed during a capture. Without
  // fixed_pointers a Run that would wait to capture leaves it to a later one.
  bool capture = false;
  // Every Run gets the same pointers, as in a Binding: they become part of the capture if the
  // Device accesses them in place. Otherwise inputs and outputs are copied to and from buffers with
  // fixed addresses.
  bool fixed_pointers = false;
  // Arena memory shared with other Executors: a Run locks it and waits for its own end. nullptr:
  // the Executor allocates its arena.
  std::shared_ptr<ArenaLock> arena_lock;
  // Lends pinned memory to each Run with tensors in host memory. nullptr: one of its own.
  std::shared_ptr<PinnedPool> pinned;
  // Times each Step and the copies of every Run (LastRun). Between two launches stands a mark then,
  // so that none starts before the one before it on its stream has ended.
  bool times_steps = false;
  // Counts the captures; must outlive the Executor. nullptr: nobody does.
  std::atomic<int64_t>* captures = nullptr;
};

// When the work of one Run went on.
struct RunTimeline {
  struct Span {
    double begin_us = 0;  // after `begin_us` below, by the Device's clock
    double us = 0;
  };
  double begin_us = 0;      // by HostClockUs, when the first work was enqueued
  bool is_replay = false;   // of a captured graph
  std::vector<Span> steps;  // by Step; 0 of those that launch nothing
  Span copies_in, copies_out;
  int64_t bytes_in = 0, bytes_out = 0;  // copied between the caller's tensors and the Executor's
};

// One arena, its streams, a captured graph and the constants of one Program. Serves one caller at a
// time.
class Executor {
 public:
  // ResourceExhausted: the arena (own or shared) is too small or cannot be allocated, or a constant
  // cannot.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(std::shared_ptr<const Program> program,
                                                          Device& device, ConstantStore& constants,
                                                          const ExecutorOptions& options = {});
  ~Executor();

  // inputs, outputs  parallel to the Graph's, row-major, of the sizes of their types, strings as
  // std::string objects; outputs overlap nothing (an empty tensor's pointer may be null)
  // callers_stream   of the Device: the Run begins after the work that the caller has enqueued
  // there, and work that the caller enqueues later begins after the Run. If no operand is in host
  // memory, the Run then returns without waiting for its end
  // cancel           checked before each Step that is launched and before a replay; may be null
  // Otherwise returns when the outputs are written. Cancelled: what had been launched has ended,
  // the outputs are undefined. InvalidArgument, with the Node's name: a value is out of range at
  // run time; if the Run was not waited for, the next Run or Synchronize returns the error. After
  // an error the Executor may be used again.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                   void* callers_stream = nullptr, const std::atomic<bool>* cancel = nullptr);
  // Waits for Runs that returned before their end.
  absl::Status Synchronize();
  // Milliseconds of each of `runs` Runs, after two warm-up Runs: replays of the captured graph by
  // the Device's clock, without copies between caller and Executor; whole Runs by the host's clock
  // if nothing was captured.
  absl::StatusOr<std::vector<double>> Time(absl::Span<const void* const> inputs,
                                           absl::Span<void* const> outputs, int runs);

  // The last Run, which has ended, of an Executor whose options say times_steps.
  absl::StatusOr<RunTimeline> LastRun() const;

  const Program& program() const { return *program_; }
  int64_t arena_bytes() const;
  int64_t staging_bytes() const { return staging_.bytes(); }
  // Allocates the copies of inputs and outputs on the device that Runs on tensors in host memory
  // need.
  //   errors  ResourceExhausted
  absl::Status ReserveStaging() { return staging_.Reserve(); }
  bool is_captured() const { return graph_ != nullptr; }
  // Whether later Runs wait until they can capture; those with fixed_pointers do in any case.
  void SetWaitsToCapture(bool waits) { waits_to_capture_ = waits; }
  // Why the Device did not capture; empty: it did, or capture is off.
  const std::string& capture_note() const { return capture_note_; }

 private:
  // Marks of times_steps: these of copies, then two of each Step.
  enum : int { kBeforeCopyIn, kAfterCopyIn, kBeforeCopyOut, kAfterCopyOut, kCopyMarks };
  Executor(std::shared_ptr<const Program> program, Device& device, const ExecutorOptions& options);
  struct Launchable;  // a Step with its resolved operands
  absl::Status TakeArenas(Device& device);
  // Around each Run, if the arena is shared.
  absl::Status LockArena() const;
  void UnlockArena() const;
  void FindWhoseNextUsesPdl();
  void FindBarriers();
  std::byte* InArena(Space space, int64_t offset) const;
  void Resolve(int index);
  absl::Status TakeConstants(ConstantStore& constants);
  bool waits_to_capture() const { return options_.fixed_pointers || waits_to_capture_; }
  absl::Status BeforeRun();
  absl::Status Enqueue(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                       void* callers_stream, const std::atomic<bool>* cancel);
  absl::Status Capture(const std::atomic<bool>* cancel);
  absl::Status LaunchEagerly(const std::atomic<bool>* cancel);
  absl::Status LaunchAll(const std::atomic<bool>* cancel);
  absl::Status Launch(int index);
  absl::Status LaunchInRange(int index, int stream);
  absl::Status Mark(int stream, int mark);
  absl::Status LaunchStep(int index);

  const std::shared_ptr<const Program> program_;
  const ExecutorOptions options_;
  std::unique_ptr<StreamSet> streams_;
  std::shared_ptr<std::byte> arena_, host_arena_;
  std::vector<std::shared_ptr<const std::byte>> constants_;
  std::vector<Launchable> steps_;
  std::vector<int> events_;  // by Step, for the Run in progress
  Staging staging_;
  FaultWords faults_;
  std::unique_ptr<CapturedGraph> graph_;
  std::string capture_note_;
  int runs_ = 0;         // successful ones, at most 2
  double begun_us_ = 0;  // the last Run with times_steps, by HostClockUs
  int unfinished_ = 0;   // Runs that may still be in progress
  bool poison_ = false;
  bool waits_to_capture_ = false;
};

}  // namespace onnx_cudnn

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/arena_lock.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/exec/fault_words.h"
#include "runtime/exec/staging.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

struct ExecutorOptions {
  // The second Run records its launches where the Device can, later ones replay the recording: the
  // first Run loads what is loaded lazily, which a recording may not.
  bool capture = false;
  // Every Run gets the same pointers, as a Binding promises: they enter the recording where the
  // Device reads them. Without it they are copied to and from buffers with addresses of their own.
  bool fixed_pointers = false;
  // Memory for the arena that other Executors use too: a Run locks it and waits for its own end.
  // nullptr: the Executor allocates its arena.
  std::shared_ptr<ArenaLock> arena_lock;
};

// One arena, its streams, a recording and the constants of one Program. Serves one caller at a
// time.
class Executor {
 public:
  // ResourceExhausted: the arena or a constant does not fit, into the memory that it shares either.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(std::shared_ptr<const Program> program,
                                                          Device& device, ConstantStore& constants,
                                                          const ExecutorOptions& options = {});
  ~Executor();

  // inputs, outputs  parallel to the Graph's, row-major, of the sizes its types say, strings as
  // std::string objects; outputs overlap nothing
  //                  (an empty tensor's pointer may be null)
  // callers_stream   of the Device: the Run begins after what the caller enqueued there, what the
  //                  caller enqueues afterwards begins after the Run. When no operand lies in host
  //                  memory the Run then returns without waiting for its end
  // Returns otherwise when the outputs are written. Values out of range at run time are
  // InvalidArgument, with the Node's name; of a Run that was not waited for, the next Run or
  // Synchronize says so. After an error the Executor may be used again.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                   void* callers_stream = nullptr);
  // Waits for Runs that returned before their end.
  absl::Status Synchronize();
  // Milliseconds of each of `runs` Runs, after two that are not counted: replays of the recording
  // by the Device's clock, without copies between caller and Executor; whole Runs by the host's
  // clock where nothing was recorded.
  absl::StatusOr<std::vector<double>> Time(absl::Span<const void* const> inputs,
                                           absl::Span<void* const> outputs, int runs);

  const Program& program() const { return *program_; }
  int64_t arena_bytes() const;
  int64_t staging_bytes() const { return staging_.bytes(); }
  bool is_captured() const { return graph_ != nullptr; }
  // Why the Device could not record; empty: it did, or was not asked to.
  const std::string& capture_note() const { return capture_note_; }

 private:
  Executor(std::shared_ptr<const Program> program, Device& device, const ExecutorOptions& options);
  struct Launchable;  // a Step with its resolved operands
  absl::Status TakeArena(Device& device);
  void FindWhoseNextWaits();
  void FindBarriers();
  std::byte* InArena(Space space, int64_t offset) const;
  absl::Status Resolve(int index, ConstantStore& constants);
  absl::Status BeforeRun();
  absl::Status Enqueue(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                       void* callers_stream);
  absl::Status Capture();
  absl::Status LaunchEagerly();
  absl::Status LaunchAll();
  absl::Status Launch(int index);
  absl::Status LaunchStep(int index);

  const std::shared_ptr<const Program> program_;
  const ExecutorOptions options_;
  std::unique_ptr<StreamSet> streams_;
  std::shared_ptr<std::byte> arena_, host_arena_;
  std::vector<std::shared_ptr<const std::byte>> constants_;
  std::vector<Launchable> steps_;
  std::vector<int> events_;  // by Step, of the Run in progress
  Staging staging_;
  FaultWords faults_;
  std::unique_ptr<CapturedGraph> graph_;
  std::string capture_note_;
  int runs_ = 0;        // that succeeded, at most 2
  int unfinished_ = 0;  // Runs that may still be going on
  bool poison_ = false;
};

}  // namespace onnx_cudnn

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/check_options.h"
#include "runtime/session/program_table.h"
#include "runtime/session/segments/segment_plan.h"
#include "runtime/session/segments/values.h"
#include "runtime/session/session_notes.h"
#include "runtime/session/shared_table.h"

namespace onnx_cudnn {

// A part of a model that a Run came to.
struct RunPart {
  std::shared_ptr<const SegmentPlan> plan;
  int depth = 0;     // of bodies of Loops and branches of Ifs
  int64_t runs = 0;  // in this Run
};

// Times what a Run comes to.
class RunTimer {
 public:
  virtual ~RunTimer() = default;
  // Runs a Program in place of one of its pool's Executors.
  virtual absl::Status Run(const std::shared_ptr<ExecutorPool>& pool,
                           const std::vector<const void*>& inputs,
                           const std::vector<void*>& outputs) = 0;
  // A Node ran between Programs, from `begin_us` on by HostClockUs.
  virtual void NoteBetween(const Node& node, double begin_us, double us) = 0;
};

// What a Run came to.
struct RunTrace {
  RunTimer* timer = nullptr;          // that the Run is to use
  std::vector<RunPart> parts;         // each once, in order
  int64_t reads = 0, read_bytes = 0;  // as SegmentedRun
};

// Runs SubModels: a Graph whose shapes depend on data as Programs and what runs between them.
// Thread-safe.
class SegmentRunner {
 public:
  // The references must outlive it.
  //   options  max_programs, for each SubModel that a Run needs, and shape_buckets
  SegmentRunner(const SessionOptions& options, const SessionDevice& device,
                const ProgramBuilder& builder, const PoolMaker& pools, SessionNotes& notes,
                BuildSegment build)
      : max_programs_(options.max_programs),
        pads_found_(PadsFoundSizes(options)),
        memory_(device),
        notes_(notes),
        planner_(builder, pools, std::move(build)),
        plans_(options.max_programs),
        refusals_(options.max_programs) {}

  // Runs the model. Returns when the outputs are written; they may share memory with inputs.
  //   inputs   parallel to the model's
  //   cancel   may be null
  //   trace    receives what the Run came to; may be null
  //   errors   InvalidArgument: values that an op does not accept. Those of SegmentPlanner::Build.
  //            Cancelled: the call in progress on this thread
  absl::StatusOr<std::vector<ModelValue>> Run(const SubModel& model, std::vector<ModelValue> inputs,
                                              const std::atomic<bool>* cancel,
                                              RunTrace* trace = nullptr) const;
  const ValueMemory& memory() const { return memory_; }
  int64_t programs_built() const { return plans_.built(); }
  int64_t programs_held() const { return plans_.held(); }
  int64_t padded_runs() const { return padded_runs_; }  // of Programs
  std::string note() const;  // why found sizes were not padded, the last time; empty: they were

 private:
  class Call;

  void NoteUnpadded(std::string why) const;

  const int max_programs_;
  const bool pads_found_;
  const ValueMemory memory_;
  SessionNotes& notes_;
  const SegmentPlanner planner_;
  mutable SharedTable<SegmentKey, SegmentPlan> plans_;
  mutable SharedTable<SegmentKey, bool> refusals_;  // of padded plans
  mutable std::atomic<int64_t> padded_runs_ = 0;
  mutable absl::Mutex mutex_;
  mutable std::string note_ ABSL_GUARDED_BY(mutex_);
};

// Runs a SubModel within a Run of another one.
class SubModelRunner {
 public:
  virtual ~SubModelRunner() = default;
  virtual absl::StatusOr<std::vector<ModelValue>> Run(const SubModel& model,
                                                      std::vector<ModelValue> inputs) = 0;
};

}  // namespace onnx_cudnn

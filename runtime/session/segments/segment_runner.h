#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/model_value.h"
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

// Runs SubModels: a Graph whose shapes depend on data as Programs and what runs between them.
// Thread-safe.
class SegmentRunner {
 public:
  // The references must outlive it.
  //   max_programs  for each SubModel that a Run needs
  SegmentRunner(int max_programs, const SessionDevice& device, const ProgramBuilder& builder,
                const PoolMaker& pools, SessionNotes& notes, BuildSegment build)
      : max_programs_(max_programs),
        memory_(device),
        notes_(notes),
        planner_(builder, pools, std::move(build)),
        plans_(max_programs) {}

  // Runs the model. Returns when the outputs are written; they may share memory with inputs.
  //   inputs   parallel to the model's
  //   cancel   may be null
  //   parts    receives what the Run came to, each once, in order; may be null
  //   errors   InvalidArgument: values that an op does not accept. Those of SegmentPlanner::Build.
  //            Cancelled: the call in progress on this thread
  absl::StatusOr<std::vector<ModelValue>> Run(const SubModel& model, std::vector<ModelValue> inputs,
                                              const std::atomic<bool>* cancel,
                                              std::vector<RunPart>* parts = nullptr) const;
  const ValueMemory& memory() const { return memory_; }
  int64_t programs_built() const { return plans_.built(); }
  int64_t programs_held() const { return plans_.held(); }

 private:
  class Call;

  const int max_programs_;
  const ValueMemory memory_;
  SessionNotes& notes_;
  const SegmentPlanner planner_;
  mutable SharedTable<SegmentKey, SegmentPlan> plans_;
};

// Runs a SubModel within a Run of another one.
class SubModelRunner {
 public:
  virtual ~SubModelRunner() = default;
  virtual absl::StatusOr<std::vector<ModelValue>> Run(const SubModel& model,
                                                      std::vector<ModelValue> inputs) = 0;
};

}  // namespace onnx_cudnn

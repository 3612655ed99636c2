#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/session.h"
#include "passes/shape_buckets/pad_lengths.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_builder.h"
#include "runtime/session/program_table.h"
#include "runtime/session/retuner.h"
#include "runtime/session/segments/values.h"
#include "runtime/session/session_notes.h"
#include "runtime/session/shared_table.h"

namespace onnx_cudnn {

// The dims of inputs that SessionOptions::shape_buckets names.
BucketChoice PaddedInputDims(std::vector<std::string> shape_buckets);

// The model padded to the buckets of a set of input dims. Immutable, except that what fails later
// is noted.
struct BucketPlan {
  PaddedGraph padded;
  std::vector<ValueInfo> inputs;  // of padded.graph
  ProgramKey key;                 // of its Program
  std::string refusal;            // why it is not padded; empty: it is
  std::atomic<bool> has_no_program = false;
};

// One Run of a padded Program.
struct BucketedRun {
  std::shared_ptr<BucketPlan> plan;
  std::shared_ptr<ExecutorPool> pool;
  std::vector<int64_t> lengths;

  // The dims of output `index` without padding.
  Dims OutputDims(int index) const;
};

// Runs a model with SessionOptions::shape_buckets. Thread-safe.
class BucketRunner {
 public:
  // The references must outlive it.
  //   graph  optimized
  BucketRunner(const Graph& graph, const SessionOptions& options, const InputReader& reader,
               const ProgramBuilder& builder, const PoolMaker& pools, const ValueMemory& memory,
               SessionNotes& notes);

  // The Programs that a Retuner replaces after ServeAtOnce.
  RetunedPrograms Retuned() const;
  // From now on new shapes are served by quick Programs, which `retuner` replaces. To be called
  // before the first Run; `retuner` must outlive it.
  void ServeAtOnce(Retuner& retuner) { retuner_ = &retuner; }

  // The Program for `inputs` (parallel to those of the model); nullptr: exact shapes serve them,
  // and note() says why.
  //   callers_stream  inputs are read after the work enqueued there; may be null
  absl::StatusOr<std::unique_ptr<BucketedRun>> Prepare(const std::vector<const TensorView*>& inputs,
                                                       void* callers_stream) const;
  // Results in new memory. Inputs and outputs in device memory are padded and cut there.
  //   spaces  of the results
  absl::StatusOr<std::vector<Tensor>> Run(const BucketedRun& run,
                                          const std::vector<const TensorView*>& inputs,
                                          const std::vector<Space>& spaces,
                                          const RunOptions& options) const;

  int64_t programs_built() const { return programs_.built(); }
  int64_t programs_held() const { return programs_.held(); }
  int64_t runs() const { return runs_; }
  std::string note() const;  // why the last Run that was not padded was not; empty: none

 private:
  absl::StatusOr<std::shared_ptr<BucketPlan>> MakePlan(const std::vector<Dims>& dims,
                                                       const ProgramKey& key) const;
  absl::StatusOr<std::shared_ptr<const Program>> Build(const BucketPlan& plan,
                                                       const Pricing& pricing) const;
  absl::StatusOr<std::shared_ptr<ExecutorPool>> BuildPool(
      const std::shared_ptr<BucketPlan>& plan) const;
  std::unique_ptr<BucketedRun> Refuse(std::string why) const;

  const Graph& graph_;
  const BucketChoice choice_;
  const InputReader& reader_;
  const ProgramBuilder& builder_;
  const PoolMaker& pools_;
  const ValueMemory& memory_;
  SessionNotes& notes_;
  mutable SharedTable<ProgramKey, BucketPlan> plans_;  // by the buckets of all dims
  mutable ProgramTable programs_;
  Retuner* retuner_ = nullptr;
  mutable SharedTable<ProgramKey, BucketPlan> retuned_;  // by BucketPlan::key, for `retuner_`
  mutable std::atomic<int64_t> runs_ = 0;
  mutable absl::Mutex mutex_;
  mutable std::string note_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

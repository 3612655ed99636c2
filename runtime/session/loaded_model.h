#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/session.h"
#include "passes/explain/explanation.h"
#include "runtime/base/progress.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/random_draw.h"
#include "runtime/session/buckets/bucket_runner.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/open_device.h"
#include "runtime/session/optimized_graph.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_builder.h"
#include "runtime/session/program_table.h"
#include "runtime/session/retuner.h"
#include "runtime/session/segments/segment_runner.h"
#include "runtime/session/segments/sub_model.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_notes.h"
#include "runtime/session/session_tuning.h"

namespace onnx_cudnn {

// The state shared by a Session and its Bindings: the optimized Graph, the Device with its weights,
// the table of Programs. Thread-safe.
class LoadedModel {
 public:
  // Optimizes `graph` for `opened`, as a rule the device that `options` select. A program that
  // passes another one links no CUDA: it does not need OpenDevice.
  //   options  which CheckOptions takes
  //   load_ms  only reported in stats()
  static absl::StatusOr<std::shared_ptr<const LoadedModel>> Create(Graph graph,
                                                                   const SessionOptions& options,
                                                                   double load_ms,
                                                                   OpenedDevice opened,
                                                                   TuneSetup tuning = {});
  // The same with a Graph that OptimizeGraph has optimized for that device.
  static absl::StatusOr<std::shared_ptr<const LoadedModel>> Create(OptimizedGraph optimized,
                                                                   const SessionOptions& options,
                                                                   double load_ms,
                                                                   OpenedDevice opened,
                                                                   TuneSetup tuning = {});

  const Graph& graph() const { return graph_; }  // as optimized
  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const SessionDevice& device() const { return *device_; }
  const InputReader& reader() const { return reader_; }
  PrecisionChoice precision() const { return options_.precision; }  // never kAuto
  bool checks_finite() const { return options_.check_finite; }
  const ProgressReporter& progress() const { return progress_; }
  int threads() const { return options_.threads; }  // for Runs on the host; 0: one per core
  SessionStats stats() const;
  TunerStats tuner_stats() const { return tuning_->tuner_stats(); }  // of this process
  // Ends background tuning for good.
  void StopTuning() const;

  // The Program, with Executors, for inputs of these shapes (parallel to inputs()) and, where they
  // decide shapes or are strings, these values; built if it is not in the table.
  // The device is current.
  //   callers_stream  the values are read after the work enqueued there; may be null
  //   errors          Unimplemented: one Program cannot run these inputs; found once for each set
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Prepare(
      const std::vector<const TensorView*>& inputs, void* callers_stream) const;
  // Explains `program`, which Prepare returned for these inputs.
  absl::StatusOr<Explanation> Explain(const std::vector<const TensorView*>& inputs,
                                      const Program& program) const;
  // The outputs of inputs that Prepare refuses: what depends on data as the model declares it.
  absl::StatusOr<std::vector<ValueInfo>> OutputsOfParts(
      const std::vector<const TensorView*>& inputs) const;
  // Whether one Program cannot run it, whatever the shapes: an input or output is no tensor.
  bool is_segmented() const { return is_segmented_; }
  // Runs it as several Programs. The outputs may share memory with inputs and be in device memory.
  //   inputs  parallel to inputs()
  //   trace   as for SegmentRunner::Run
  absl::StatusOr<std::vector<ModelValue>> RunSegments(std::vector<ModelValue> inputs,
                                                      const RunOptions& options,
                                                      RunTrace* trace = nullptr) const;
  const ValueMemory& memory() const { return segments_.memory(); }
  const BucketRunner& buckets() const { return buckets_; }

 private:
  struct Parts {
    Graph graph;  // optimized
    std::unique_ptr<const RandomStreams> random;
    std::vector<ValueInfo> inputs, outputs;
    std::vector<int> deciding_inputs;
    std::vector<PinRule> pins;
    std::unique_ptr<const SessionDevice> device;
  };
  LoadedModel(Parts parts, const SessionOptions& options);
  RetunedPrograms Retuned() const;  // those of exact shapes
  std::unique_ptr<Retuner> MakeRetuner(RetunedPrograms programs) const;
  absl::StatusOr<ProgramTable::Key> KeyOf(const std::vector<const TensorView*>& inputs,
                                          void* callers_stream) const;
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Build(const ProgramTable::Key& key,
                                                      bool& wants_better) const;
  // Whether one Program cannot run inputs of `key`, or is not expected to, as none could before.
  bool NeedsSegments(const ProgramTable::Key& key) const;
  void NoteSegments(const ProgramTable::Key& key) const;
  absl::StatusOr<std::shared_ptr<const SubModel>> Whole() const;  // as a SubModel

  const Graph graph_;
  const std::unique_ptr<const RandomStreams> random_;  // of graph_
  const SessionOptions options_;                       // resolved for the device
  const ProgressReporter progress_;
  const std::vector<ValueInfo> inputs_, outputs_;
  const std::unique_ptr<const SessionDevice> device_;
  const InputReader reader_;
  mutable SessionNotes notes_;
  const PoolMaker pools_;
  const ProgramBuilder builder_;
  mutable ProgramTable programs_;
  const SegmentRunner segments_;
  BucketRunner buckets_;
  const bool is_segmented_;
  mutable absl::Mutex segmented_mutex_;
  // With their outputs, once OutputsOfParts has found them.
  mutable std::map<ProgramTable::Key, std::vector<ValueInfo>> segmented_
      ABSL_GUARDED_BY(segmented_mutex_);
  mutable absl::Mutex whole_mutex_;
  mutable std::shared_ptr<const SubModel> whole_ ABSL_GUARDED_BY(whole_mutex_);
  std::unique_ptr<const SessionTuning> tuning_;
  // Last members, because their threads use the others. nullptr: every Program is the best one at
  // once.
  std::unique_ptr<Retuner> retuner_, padded_retuner_;
};

// The types of a Program's outputs, with the names of the model.
std::vector<ValueInfo> OutputsOf(const Program& program);

}  // namespace onnx_cudnn

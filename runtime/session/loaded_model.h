#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "passes/build_program.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/session/background_tuning.h"
#include "runtime/session/network_benchmark.h"
#include "runtime/session/open_device.h"
#include "runtime/session/program_table.h"
#include "runtime/session/transfers.h"
#include "runtime/session/worker_tuning.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

struct TuneSetup {
  // For a worker program; empty: this process measures, in the background nobody does.
  ModelSource source;
  TuneObserver observer;       // of what this process measures
  bool one_at_a_time = false;  // TunerOptions
};

// What a Session and its Bindings share: the optimized Graph, the Device with its weights, the
// table of Programs. Everything but the thread-safe tables is immutable.
class LoadedModel {
 public:
  // Optimizes `graph` for the device that `options` name, or for `opened`. `load_ms` is for stats()
  // alone.
  static absl::StatusOr<std::shared_ptr<const LoadedModel>> Create(Graph graph,
                                                                   const SessionOptions& options,
                                                                   double load_ms,
                                                                   TuneSetup tuning = {});
  static absl::StatusOr<std::shared_ptr<const LoadedModel>> Create(Graph graph,
                                                                   const SessionOptions& options,
                                                                   double load_ms,
                                                                   OpenedDevice opened,
                                                                   TuneSetup tuning = {});

  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  Device& device() const { return *device_; }
  DeviceRef device_ref() const;  // of memory that Steps read as it is
  const std::string& device_note() const { return device_note_; }
  DeviceFacts device_facts() const;
  PrecisionChoice precision() const { return options_.precision; }  // never kAuto
  Transfers& transfers() const { return *transfers_; }
  SessionStats stats() const;
  TunerStats tuner_stats() const;  // of this process
  // No more is tuned in the background; returns when what was begun is over.
  void StopTuning() const;

  // The Program, with Executors, for inputs of these shapes (parallel to inputs()), and of these
  // values where they decide shapes or are strings; built when the table lacks it.
  //   callers_stream  those values are read after what was enqueued there; may be null
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Prepare(
      const std::vector<const TensorView*>& inputs, void* callers_stream) const;
  // The values of those inputs for which a Program is built: strings, and what decides shapes.
  //   errors  InvalidArgument: strings in null or misaligned memory. Unimplemented: too many of
  //   them
  absl::StatusOr<InputValues> ValuesIn(const std::vector<const TensorView*>& inputs,
                                       void* callers_stream) const;
  // Row-major bytes of a tensor of numbers, wherever it lies.
  absl::StatusOr<std::string> BytesIn(const TensorView& view, void* callers_stream) const;

 private:
  LoadedModel(Graph graph, const SessionOptions& options);
  void TakeDevice(OpenedDevice opened);
  absl::Status MakeTuner(TuneSetup tuning);
  absl::Status Optimize();
  absl::Status Describe();
  // Among scalars and vectors: where nothing else is an input, nothing is looked for.
  absl::Status FindInputsThatDecideShapes();
  std::map<std::string, HostTensor, std::less<>> TensorsOf(const ProgramTable::Key& key) const;
  std::map<std::string, Dims, std::less<>> DimsOf(const ProgramTable::Key& key) const;
  BuildOptions BuildOptionsOf(const ProgramTable::Key& key) const;  // less the search's

  // What a Program's Candidates are priced and chosen by.
  struct Pricing {
    Tuner* tuner = nullptr;  // nullptr: predictions alone
    // Called before Candidates that `tuner` does not know; empty: never.
    std::function<absl::Status(absl::Span<const Candidate* const>)> measure = nullptr;
    bool benchmarks_networks = false;  // this process times whole networks
  };
  // wants_tuning  becomes true where tuning in the background may find a better Program
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Build(const ProgramTable::Key& key,
                                                      bool& wants_tuning) const;
  // Tunes first where that is asked for.
  absl::StatusOr<std::shared_ptr<const Program>> BuildInForeground(
      const ProgramTable::Key& key) const;
  // By what the plan cache knows, else by predictions.
  absl::StatusOr<std::shared_ptr<const Program>> BuildAtOnce(const ProgramTable::Key& key,
                                                             bool& wants_tuning) const;
  // With one stream where more are above the byte limit.
  absl::StatusOr<std::shared_ptr<const Program>> BuildWithin(const ProgramTable::Key& key,
                                                             const Pricing& pricing) const;
  absl::StatusOr<std::shared_ptr<const Program>> BuildWith(const ProgramTable::Key& key,
                                                           int streams, const SearchStrategy& way,
                                                           const Pricing& pricing) const;
  // What is fastest as a whole, as the plan cache knows or is measured now.
  absl::StatusOr<std::shared_ptr<const Program>> BuildFastest(const ProgramTable::Key& key,
                                                              const Pricing& pricing) const;
  // The Program of the way that the plan cache names; nullptr: it names none.
  absl::StatusOr<std::shared_ptr<const Program>> BuildKnown(const ProgramTable::Key& key,
                                                            const std::string& network,
                                                            const Pricing& pricing) const;
  absl::StatusOr<std::shared_ptr<const Program>> BenchmarkStrategies(
      const ProgramTable::Key& key, std::shared_ptr<const Program> first,
      const std::string& network, const Pricing& pricing) const;
  int64_t ExecutorBytes(const Program& program) const;
  // Of weights and so many Executors.
  int64_t PoolBytes(const Program& program, int executors) const;
  // ResourceExhausted: weights and one Executor take more than `most_bytes`.
  absl::StatusOr<std::shared_ptr<ExecutorPool>> PoolOf(std::shared_ptr<const Program> program,
                                                       int64_t most_bytes) const;
  void NoteServing(const Program& program) const;
  void NoteTuning(std::string note) const;  // each text once

  // In the background.
  void StartTuning();
  void TuneLater(const ProgramTable::Key& key) const;
  // Notes what became of it, errors too.
  void Tune(const ProgramTable::Key& key, const std::atomic<bool>& stop) const;
  // What became of the Program of `key`, in words; empty: there is none any more.
  //   errors  why the Program stays that serves; Cancelled: `stop`
  absl::StatusOr<std::string> Retune(const ProgramTable::Key& key,
                                     const std::atomic<bool>& stop) const;
  absl::StatusOr<std::shared_ptr<const Program>> BuildTuned(const ProgramTable::Key& key,
                                                            const std::atomic<bool>& stop) const;
  // ResourceExhausted: `tuned` cannot be timed while `serving` serves, or cannot have as many
  // Executors beside those until the last Run on them is over.
  absl::Status CheckFitsBeside(const ExecutorPool& serving, const Program& tuned) const;

  Graph graph_;
  SessionOptions options_;  // with what kAuto and 0 stand for on this device
  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<int> inputs_that_decide_shapes_;
  std::string device_note_;
  OwnedTarget target_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<ArenaLock> turns_;  // nullptr: Executors have arenas of their own
  std::unique_ptr<ConstantStore> constants_;
  std::unique_ptr<Transfers> transfers_;
  std::unique_ptr<PlanCache> plan_cache_;
  std::unique_ptr<Tuner> tuner_;  // of the foreground; nullptr: nothing is measured there
  std::unique_ptr<WorkerTuning> worker_tuning_;  // nullptr: `tuner_` measures in this process
  mutable ProgramTable programs_;
  mutable absl::Mutex stats_mutex_;
  mutable SessionStats stats_ ABSL_GUARDED_BY(stats_mutex_);
  // The last member: its thread uses the others. nullptr: nothing is tuned in the background.
  std::unique_ptr<BackgroundTuning> background_;
};

// What products become that the model has in f32.
DType ProductType(PrecisionChoice precision);

// The types of a Program's outputs; their names are the model's.
std::vector<ValueInfo> OutputsOf(const Program& program);

}  // namespace onnx_cudnn

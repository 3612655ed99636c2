#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/engines.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/program_table.h"
#include "runtime/session.h"

namespace onnx_cudnn {

// What a Session and its Bindings share: the optimized Graph, the Device with its weights, the
// table of Programs. Everything but the thread-safe tables is immutable.
class LoadedModel {
 public:
  // Optimizes `graph`. `load_ms` is for stats() alone.
  static absl::StatusOr<std::shared_ptr<const LoadedModel>> Create(Graph graph,
                                                                   const SessionOptions& options,
                                                                   double load_ms);

  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const Device& device() const { return *device_; }
  const std::string& device_note() const { return device_note_; }
  SessionStats stats() const;

  // The Program, with Executors, for inputs of these shapes (parallel to inputs()); built when the
  // table lacks it.
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Prepare(
      const std::vector<const TensorView*>& inputs) const;

 private:
  LoadedModel(Graph graph, const SessionOptions& options);
  absl::Status OpenDevice();
  absl::Status Optimize();
  absl::Status Describe();
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Build(const ProgramTable::Key& key) const;

  Graph graph_;
  const SessionOptions options_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::string device_note_;
  OwnedTarget target_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ConstantStore> constants_;
  mutable ProgramTable programs_;
  mutable absl::Mutex stats_mutex_;
  mutable SessionStats stats_ ABSL_GUARDED_BY(stats_mutex_);
};

// The types of a Program's outputs; their names are the model's.
std::vector<ValueInfo> OutputsOf(const Program& program);

}  // namespace onnx_cudnn

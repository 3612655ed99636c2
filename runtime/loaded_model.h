#pragma once

#include <map>
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

  // The Program, with Executors, for inputs of these shapes (parallel to inputs()), and of these
  // values where they decide shapes or are strings; built when the table lacks it.
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Prepare(
      const std::vector<const TensorView*>& inputs) const;
  // The values of those inputs for which a Program is built: strings, and what decides shapes.
  //   errors  InvalidArgument: strings in null or misaligned memory. Unimplemented: too many of
  //   them
  absl::StatusOr<InputValues> ValuesIn(const std::vector<const TensorView*>& inputs) const;

 private:
  LoadedModel(Graph graph, const SessionOptions& options);
  absl::Status OpenDevice();
  absl::Status Optimize();
  absl::Status Describe();
  // Among scalars and vectors: where nothing else is an input, nothing is looked for.
  absl::Status FindInputsThatDecideShapes();
  std::map<std::string, HostTensor, std::less<>> TensorsOf(const ProgramTable::Key& key) const;
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Build(const ProgramTable::Key& key) const;

  Graph graph_;
  const SessionOptions options_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<int> inputs_that_decide_shapes_;
  std::string device_note_;
  OwnedTarget target_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ConstantStore> constants_;
  mutable ProgramTable programs_;
  mutable absl::Mutex stats_mutex_;
  mutable SessionStats stats_ ABSL_GUARDED_BY(stats_mutex_);
};

// What products become that the model has in f32.
DType ProductType(PrecisionChoice precision);

// The types of a Program's outputs; their names are the model's.
std::vector<ValueInfo> OutputsOf(const Program& program);

}  // namespace onnx_cudnn

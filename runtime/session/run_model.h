// Runs a loaded model: whole, or in segments where one Program cannot run it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// The checked inputs of a call, with the pool of their Program.
struct Prepared {
  std::vector<const TensorView*> inputs;
  std::shared_ptr<ExecutorPool> pool;     // nullptr: it is padded, or runs in segments
  std::unique_ptr<BucketedRun> bucketed;  // nullptr: it is not padded
};
// Makes the device current.
absl::StatusOr<Prepared> PrepareRun(const LoadedModel& model, const std::vector<NamedView>& inputs,
                                    const RunOptions& options);

// The types of the outputs; of a model in parts as the model declares them.
std::vector<ValueInfo> OutputsOf(const LoadedModel& model, const Prepared& prepared);

// The outputs of a Run in new host memory, uninitialized.
absl::StatusOr<std::vector<Tensor>> AllocateOutputs(const Program& program);

// Runs with outputs in new host memory.
absl::StatusOr<std::vector<Tensor>> RunIntoNew(const LoadedModel& model, const Prepared& prepared,
                                               const RunOptions& options);
absl::StatusOr<std::vector<ModelValue>> RunIntoNew(const LoadedModel& model,
                                                   const std::vector<NamedValue>& inputs,
                                                   const RunOptions& options);

// Runs padded or in segments and copies the outputs to the caller's memory.
//   errors  InvalidArgument: an output has other dims
absl::Status RunPartsInto(const LoadedModel& model, const std::vector<TensorView>& inputs,
                          const std::vector<TensorView>& outputs, const RunOptions& options);

}  // namespace onnx_cudnn

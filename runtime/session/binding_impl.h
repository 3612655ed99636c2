// The implementation of Binding (session.h), and checks of every Run.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/thread_pool.h"
#include "runtime/exec/executor.h"
#include "runtime/gpu/gpu.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// InvalidArgument: a stream on a device without streams. Cancelled.
absl::Status CheckRunOptions(const LoadedModel& model, const RunOptions& options);

// What every call of a Session or a Binding holds: its limit of threads, and the caller's current
// GPU.
struct CallScope {
  explicit CallScope(const LoadedModel& model)
      : threads(model.threads()), gpu(model.device().ref() != DeviceRef{}) {}
  const ThreadPool::Limit threads;
  const KeepCurrentGpu gpu;
};

struct Binding::Impl {
  // FailedPrecondition: strings, or values that decide shapes, differ from those at Bind.
  absl::Status CheckValues(void* callers_stream) const;

  std::shared_ptr<const LoadedModel> model;
  std::vector<TensorView> views;  // of the inputs
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  InputValues values;  // values at Bind
  std::unique_ptr<Executor> executor;

 private:
  absl::Status Changed(int input, std::string_view what) const;
};

}  // namespace onnx_cudnn

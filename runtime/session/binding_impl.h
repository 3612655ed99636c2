// The implementation of Binding (session.h), and checks of every Run.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/progress.h"
#include "runtime/base/thread_pool.h"
#include "runtime/exec/executor.h"
#include "runtime/gpu/gpu.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// InvalidArgument: a stream on a device without streams, or where outputs are checked. Cancelled:
// the call in progress.
absl::Status CheckRunOptions(const LoadedModel& model, const RunOptions& options);

// What every call of a Session or a Binding holds: its limit of threads, what it reports to and
// what cancels it, and the caller's current GPU.
struct CallScope {
  explicit CallScope(const LoadedModel& model, const std::atomic<bool>* cancel = nullptr)
      : threads(model.threads()),
        progress(cancel, &model.progress()),
        gpu(model.device().ref() != DeviceRef{}) {}
  const ThreadPool::Limit threads;
  const ProgressScope progress;
  const KeepCurrentGpu gpu;
};

struct Binding::Impl {
  // FailedPrecondition: strings, or values that decide shapes, differ from those at Bind.
  absl::Status CheckValues(void* callers_stream) const;
  // Milliseconds of each Run without an Executor, by the host's clock.
  absl::StatusOr<std::vector<double>> TimeParts(int runs) const;

  std::shared_ptr<const LoadedModel> model;
  std::vector<TensorView> views;  // of the inputs
  std::vector<TensorView> output_views;
  bool is_padded = false;  // to buckets, by an Executor of the pool
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  InputValues values;                  // values at Bind
  std::unique_ptr<Executor> executor;  // nullptr: it runs in segments or padded

 private:
  absl::Status Changed(int input, std::string_view what) const;
};

}  // namespace onnx_cudnn

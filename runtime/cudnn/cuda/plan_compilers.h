// cuDNN plans compiled by other processes: within a process cuDNN generates the code of one plan at
// a time (docs/measurements.md, 'Compiling plans').
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/child_process.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"
#include "runtime/cudnn/cuda/cudnn_plan.h"

namespace onnx_cudnn {

// Thread-safe. The processes end with it.
class PlanCompilers {
 public:
  // Starts `processes` times `command`: a program, with its arguments, that calls ServePlans.
  PlanCompilers(const std::vector<std::string>& command, int processes);

  // The plan that BuildPlan returns, as CudnnPlan::Save returns it. Waits until a process is free.
  //   errors  Unimplemented: refused. Unavailable: no process is left that compiles it
  absl::StatusOr<std::string> Compile(const CudnnGraph& graph, std::string_view engine);

 private:
  std::optional<ChildProcess> Take();
  absl::StatusOr<std::string> Ask(const std::string& request);

  absl::Mutex mutex_;
  std::vector<ChildProcess> free_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // free or not
};

using PlanBuilder = std::function<absl::StatusOr<std::unique_ptr<CudnnPlan>>(
    const CudnnGraph& graph, std::string_view engine)>;

// The other side: builds what is asked for until the socket closes. Ends the process if that
// happens while a plan is built.
void ServePlans(int socket, const PlanBuilder& build);

// Serves plans for a device. Opens libcudnn and creates a handle.
//   errors  those of MakeCudnnEngine
absl::Status ServePlansFor(int ordinal, int socket);

}  // namespace onnx_cudnn

// cuDNN plans compiled by other processes: within a process cuDNN generates the code of one plan at
// a time (docs/measurements.md, 'Compiling plans').
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
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
  // Starts `processes` times `command`: a program, with its arguments, that calls ServePlans. What
  // is not ready after a few seconds is ended.
  PlanCompilers(const std::vector<std::string>& command, int processes);
  ~PlanCompilers();

  // How many processes compile, or may soon.
  int running() const;

  // The plan that BuildPlan returns, as CudnnPlan::Save returns it. Waits until a process is free.
  //   errors  Unimplemented: refused. ResourceExhausted: the process ended while it compiled it.
  //           Unavailable: no process is left, or it failed otherwise: the caller compiles it
  absl::StatusOr<std::string> Compile(const CudnnGraph& graph, std::string_view engine);

 private:
  void AwaitReady(std::vector<ChildProcess> opening);
  std::optional<ChildProcess> Take();

  mutable absl::Mutex mutex_;
  std::vector<ChildProcess> free_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // opening, free or compiling
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread ready_;  // takes the processes' first texts
};

using PlanBuilder = std::function<absl::StatusOr<std::unique_ptr<CudnnPlan>>(
    const CudnnGraph& graph, std::string_view engine)>;

// The other side: says that it is ready, then builds what is asked for until the socket closes.
void ServePlans(int socket, const PlanBuilder& build);

// Serves plans for a device. Opens libcudnn and creates a handle. The process ends when the socket
// closes, whatever it does then: a driver or a plan may block it.
//   errors  those of MakeCudnnEngine
absl::Status ServePlansFor(int ordinal, int socket);

}  // namespace onnx_cudnn

// One cuDNN execution plan, behind plain types: the frontend's header stands in cudnn_plan.cc
// alone.
#pragma once

#include <cudnn_graph.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// What a plan is built for: a device that is there, or one known by its properties alone.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  std::string_view properties = {};  // as DevicePropertiesOf writes them; used without a handle
};

// The properties of device `ordinal`, as cuDNN writes them in JSON.
absl::StatusOr<std::string> DevicePropertiesOf(int ordinal);

// The device that `properties` describe: plans saved for one serve equal ones.
absl::StatusOr<std::string> DeviceOf(std::string_view properties);

// The engines with their knobs that cuDNN would run `graph` by, the best guess first, each once:
// "engine 41, k2=0, k24=3" (the frontend's numbers of knobs). What `numerics` forbids is left out.
//   most    how many at most
//   errors  Unimplemented: a refusal, none is left
absl::StatusOr<std::vector<std::string>> ListPlans(const CudnnGraph& graph,
                                                   const Numerics& numerics,
                                                   const PlanTarget& target, size_t most);

// Thread-safe, as long as no two threads use one handle. Its destructor shares CaptureMutex().
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual int64_t workspace_bytes() const = 0;
  // Enqueues it on the handle's stream. `operands` are parallel to OperandsOf(graph).
  virtual absl::Status Execute(cudnnHandle_t handle, absl::Span<const void* const> operands,
                               void* workspace) const = 0;
  // For LoadPlan with the same version of cuDNN and device.
  virtual absl::StatusOr<std::string> Save() const = 0;
};

// Builds the plan that `engine`, a line of ListPlans, names.
//   errors  Unimplemented: a refusal. InvalidArgument: `engine` is no such line
absl::StatusOr<std::unique_ptr<CudnnPlan>> BuildPlan(const CudnnGraph& graph,
                                                     std::string_view engine,
                                                     const PlanTarget& target);

// A plan that Save wrote, over the OperandsOf its graph.
//   errors  FailedPrecondition: cuDNN does not take it
absl::StatusOr<std::unique_ptr<CudnnPlan>> LoadPlan(std::string_view saved,
                                                    absl::Span<const int> operands,
                                                    const PlanTarget& target);

}  // namespace onnx_cudnn

// One cuDNN execution plan behind plain types: only cudnn_plan.cc includes the frontend's header.
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

// The device that a plan is built for: present, or known only by its properties.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;    // nullptr: the device is not present
  std::string_view properties = {};  // in the form of DevicePropertiesOf
};

// The properties of device `ordinal`, as cuDNN serializes them to JSON.
absl::StatusOr<std::string> DevicePropertiesOf(int ordinal);

// Identifies the device that `properties` describe: a saved plan can be loaded on a device with the
// same text.
absl::StatusOr<std::string> DeviceOf(std::string_view properties);

// The engines and knobs that cuDNN proposes for `graph`, the best guess first, without duplicates:
// "engine 41, k2=0, k24=3" (knobs by the frontend's numbers). Leaves out what `numerics` forbids.
//   most    maximum number of results
//   errors  Unimplemented: refused, or none is left
absl::StatusOr<std::vector<std::string>> ListPlans(const CudnnGraph& graph,
                                                   const Numerics& numerics,
                                                   const PlanTarget& target, size_t most);

// Thread-safe as long as no two threads use one handle. The destructor shares CaptureMutex().
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual int64_t workspace_bytes() const = 0;
  // Enqueues the plan on the handle's stream. `operands` are parallel to OperandsOf(graph).
  virtual absl::Status Execute(cudnnHandle_t handle, absl::Span<const void* const> operands,
                               void* workspace) const = 0;
  // For LoadPlan on an equal device with the same version of cuDNN.
  virtual absl::StatusOr<std::string> Save() const = 0;
};

// Builds the plan that `engine`, a result of ListPlans, describes.
//   errors  Unimplemented: refused. InvalidArgument: `engine` does not have that form
absl::StatusOr<std::unique_ptr<CudnnPlan>> BuildPlan(const CudnnGraph& graph,
                                                     std::string_view engine,
                                                     const PlanTarget& target);

// Loads a plan that Save wrote, over the OperandsOf its graph.
//   errors  FailedPrecondition: cuDNN rejects it
absl::StatusOr<std::unique_ptr<CudnnPlan>> LoadPlan(std::string_view saved,
                                                    absl::Span<const int> operands,
                                                    const PlanTarget& target);

}  // namespace onnx_cudnn

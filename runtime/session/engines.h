#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

using EngineList = std::vector<std::unique_ptr<const Engine>>;

// A Target with the Engines it names, in order of preference at equal price. Moving it keeps their
// addresses.
struct OwnedTarget {
  EngineList engines;
  Target target;
  std::string note = {};  // which Engines are missing, and why; empty: none
};

// The Target called `name`, without asking a device. InvalidArgument lists the names there are.
absl::StatusOr<OwnedTarget> MakeTarget(std::string_view name);
// Makes the Engines of a GPU take it for one of a lesser compute capability; 0: for what it is.
// InvalidArgument: there is no GPU, or it has less.
absl::Status SetCapability(OwnedTarget& owned, int compute_capability);
// "cpu, h200, ...".
std::string TargetNames();

// A GPU's Engines, the best first at equal price: between `view` and `host`.
EngineList GpuEngines(EngineList computing);
OwnedTarget TargetOver(EngineList engines, DeviceInfo info);

}  // namespace onnx_cudnn

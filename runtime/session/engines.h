#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/partition/partitioners.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

using EngineList = std::vector<std::unique_ptr<const Engine>>;

// A Target with the Engines that it points to, by preference at equal price. Moving it keeps their
// addresses.
struct OwnedTarget {
  EngineList engines;
  Target target;
  std::string note = {};  // which Engines are missing, and why; may be empty
  // How many processes generate cuDNN's code; empty: this one.
  std::function<int()> compilers = {};
};

// The Target called `name`, without a device. InvalidArgument lists the names.
absl::StatusOr<OwnedTarget> MakeTarget(std::string_view name);
// Makes the Engines of a GPU treat it as one of a lower compute capability; 0: no change.
// InvalidArgument: there is no GPU, or its capability is lower.
absl::Status SetCapability(OwnedTarget& owned, int compute_capability);
// "cpu, h200, ...".
std::string TargetNames();

// The Engines that quick Programs avoid: those whose libraries generate code when a Step is
// compiled, which takes tenths of a second (docs/measurements.md, 'Convolutions of ResNet-50 in
// cuDNN'), and those whose libraries load a kernel at its first launch, which took 33 ms of a Run
// (docs/performance.md, 'Models whose shapes vary').
absl::Span<const AvoidedEngine> AvoidedByQuickPrograms();

// A GPU's Engines, by preference at equal price: `view`, `computing`, `host`.
EngineList GpuEngines(EngineList computing);
OwnedTarget TargetOver(EngineList engines, DeviceInfo info);

}  // namespace onnx_cudnn

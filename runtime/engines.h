#pragma once

#include <memory>
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
};

// The Target called `name`, without asking a device: the only place that names every Engine.
// InvalidArgument lists the names there are.
absl::StatusOr<OwnedTarget> MakeTarget(std::string_view name);

}  // namespace onnx_cudnn

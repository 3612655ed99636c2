#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

using EngineList = std::vector<std::unique_ptr<const Engine>>;

// Every Engine, in order of preference at equal price: the only place that names them all.
EngineList MakeEngines();

// The Target called `name`, over `engines`, which must outlive it. InvalidArgument lists the names
// there are.
absl::StatusOr<Target> MakeTarget(std::string_view name, const EngineList& engines);

}  // namespace onnx_cudnn

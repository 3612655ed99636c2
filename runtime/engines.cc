#include "runtime/engines.h"

#include "absl/strings/str_format.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"

namespace onnx_cudnn {

EngineList MakeEngines() {
  EngineList engines;
  engines.push_back(MakeViewEngine());
  engines.push_back(MakeHostEngine(Space::kDevice));
  return engines;
}

absl::StatusOr<Target> MakeTarget(std::string_view name, const EngineList& engines) {
  if (name != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrFormat("unknown target \"%s\", expected one of: cpu", name));
  }
  Target target;
  target.info.name = "cpu";
  for (const auto& engine : engines) target.engines.push_back(engine.get());
  return target;
}

}  // namespace onnx_cudnn

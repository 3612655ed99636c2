#include "runtime/session/engines.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/cudnn/cudnn_rules.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "runtime/gemm/gemm_rules.h"
#include "runtime/kernels/common/kernel_rules.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

EngineList CpuEngines() {
  EngineList engines;
  engines.push_back(MakeViewEngine());
  engines.push_back(MakeHostEngine(Space::kDevice));
  return engines;
}

EngineList GpuRules() {
  EngineList engines;
  engines.push_back(MakeCudnnRules());
  engines.push_back(MakeGemmRules());
  engines.push_back(MakeKernelRules());
  return engines;
}

}  // namespace

EngineList GpuEngines(EngineList computing) {
  EngineList engines;
  engines.push_back(MakeViewEngine());
  for (auto& engine : computing) engines.push_back(std::move(engine));
  engines.push_back(MakeHostEngine(Space::kHost));
  return engines;
}

OwnedTarget TargetOver(EngineList engines, DeviceInfo info) {
  OwnedTarget owned{.engines = std::move(engines)};
  owned.target.info = std::move(info);
  for (const auto& engine : owned.engines) owned.target.engines.push_back(engine.get());
  return owned;
}

absl::StatusOr<OwnedTarget> MakeTarget(std::string_view name) {
  if (name == "cpu") return TargetOver(CpuEngines(), MakeCpuDevice()->info());
  if (name == "h200") return TargetOver(GpuEngines(GpuRules()), H200());
  return absl::InvalidArgumentError(
      absl::StrFormat("unknown target \"%s\", expected one of: cpu, h200", name));
}

}  // namespace onnx_cudnn

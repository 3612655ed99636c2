#include "runtime/session/engines.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cudnn_rules.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/custom_engine.h"
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
  engines.push_back(MakeCustomEngine());
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

absl::Span<const AvoidedEngine> AvoidedByQuickPrograms() {
  static constexpr AvoidedEngine kAvoided[] = {{.name = "cudnn"},
                                               {.name = "gemm", .most_times = 8}};
  return kAvoided;
}

absl::Status SetCapability(OwnedTarget& owned, int compute_capability) {
  if (compute_capability == 0) return absl::OkStatus();
  if (owned.target.info.compute_capability == 0) {
    return absl::InvalidArgumentError(absl::StrFormat("compute capability %s: %s is no GPU",
                                                      CapabilityText(compute_capability),
                                                      owned.target.info.name));
  }
  ASSIGN_OR_RETURN(owned.target.info, AsCapability(owned.target.info, compute_capability));
  return absl::OkStatus();
}

std::string TargetNames() {
  return absl::StrCat("cpu, h200, ", absl::StrJoin(PublishedDevices(), ", "));
}

absl::StatusOr<OwnedTarget> MakeTarget(std::string_view name) {
  if (name == "cpu") return TargetOver(CpuEngines(), MakeCpuDevice()->info());
  if (name == "h200") return TargetOver(GpuEngines(GpuRules()), H200());
  if (std::optional<DeviceInfo> info = PublishedDevice(name)) {
    return TargetOver(GpuEngines(GpuRules()), *std::move(info));
  }
  if (name == "t4") {
    return absl::InvalidArgumentError(absl::StrFormat(
        "target \"t4\": it has compute capability 7.5, and the runtime needs %s or later: kernels "
        "copy by cp.async and compute in bf16",
        CapabilityText(kOldestCapability)));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("unknown target \"%s\", expected one of: %s", name, TargetNames()));
}

}  // namespace onnx_cudnn

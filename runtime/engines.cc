#include "runtime/engines.h"

#include "absl/strings/str_format.h"
#include "runtime/cudnn/cudnn_rules.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "runtime/gemm/gemm_rules.h"
#include "runtime/kernels/kernel_rules.h"

namespace onnx_cudnn {
namespace {

EngineList CpuEngines() {
  EngineList engines;
  engines.push_back(MakeViewEngine());
  engines.push_back(MakeHostEngine(Space::kDevice));
  return engines;
}

EngineList GpuEngines() {
  EngineList engines;
  engines.push_back(MakeViewEngine());
  engines.push_back(MakeCudnnRules());
  engines.push_back(MakeGemmRules());
  engines.push_back(MakeKernelRules());
  engines.push_back(MakeHostEngine(Space::kHost));
  return engines;
}

// One NVIDIA H200: properties as the driver reports them, rates as measured on one (fp16 and tf32
// products, a copy's bytes read and written). Not measured: the bus (PCIe 5 x 16) and host Steps.
DeviceInfo H200() {
  return {.name = "h200",
          .compute_capability = 90,
          .multiprocessors = 132,
          .shared_bytes_per_block = 232'448,
          .l2_bytes = 62'914'560,
          .memory_bytes = 150'109'880'320,
          .f16_flops_per_us = 760e6,
          .tf32_flops_per_us = 423e6,
          .f32_flops_per_us = 51e6,
          .bytes_per_us = 4.29e6,
          .launch_us = 1.3,
          .bus_bytes_per_us = 50e3,
          .bus_us = 10,
          .host_us = 10};
}

OwnedTarget Over(EngineList engines, DeviceInfo info) {
  OwnedTarget owned{.engines = std::move(engines)};
  owned.target.info = std::move(info);
  for (const auto& engine : owned.engines) owned.target.engines.push_back(engine.get());
  return owned;
}

}  // namespace

absl::StatusOr<OwnedTarget> MakeTarget(std::string_view name) {
  if (name == "cpu") return Over(CpuEngines(), DeviceInfo());
  if (name == "h200") return Over(GpuEngines(), H200());
  return absl::InvalidArgumentError(
      absl::StrFormat("unknown target \"%s\", expected one of: cpu, h200", name));
}

}  // namespace onnx_cudnn

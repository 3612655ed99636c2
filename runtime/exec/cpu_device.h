#pragma once

#include <memory>
#include <optional>

#include "runtime/exec/device.h"

namespace onnx_cudnn {

struct CpuDeviceOptions {
  // Drains the streams in an order drawn from this seed that respects only the waits, instead of at
  // once in launch order.
  std::optional<uint64_t> interleave_seed;
  // Fills outputs and workspace with NaN just before their Step, and the arena before each Run.
  bool poison = false;
};

// Runs any Program by its Steps' references on the host. Both Spaces are host memory.
std::unique_ptr<Device> MakeCpuDevice(const CpuDeviceOptions& options = {});

}  // namespace onnx_cudnn

#pragma once

#include <memory>
#include <optional>

#include "runtime/exec/device.h"

namespace onnx_cudnn {

struct CpuDeviceOptions {
  // Runs the streams in a random order, drawn from this seed, that respects only the waits, instead
  // of immediately in launch order.
  std::optional<uint64_t> interleave_seed;
  // Fills outputs and workspace with NaN just before their Step, and the arena before each Run.
  bool poison = false;
  // For tests: treats its Executor as a GPU would. Accesses only memory that it allocated itself,
  // defers work until Synchronize, captures, and accepts callers' streams (any address represents
  // one).
  bool like_a_gpu = false;
};

// Runs any Program with the references of its Steps on the host. Both Spaces are host memory. It
// has no streams that a caller could wait for, and cannot capture.
std::unique_ptr<Device> MakeCpuDevice(const CpuDeviceOptions& options = {});

}  // namespace onnx_cudnn

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
  // Tests: behaves as a GPU does towards its Executor. Reads and writes memory that it allocated
  // itself alone, puts work off until Synchronize, captures, and takes callers' streams (any
  // address stands for one).
  bool like_a_gpu = false;
};

// Runs any Program by its Steps' references on the host. Both Spaces are host memory. It has no
// streams of its own that a caller could wait for, and captures nothing.
std::unique_ptr<Device> MakeCpuDevice(const CpuDeviceOptions& options = {});

}  // namespace onnx_cudnn

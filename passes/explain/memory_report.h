#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/device_info.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// Bytes in an arena, and when they are needed.
struct BufferReport {
  std::string name;  // of the Value, or "workspace of NODE"
  Space space = Space::kDevice;
  int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;  // positions in launch order
};

struct MemoryReport {
  int64_t weight_bytes = 0;
  int64_t arena_bytes = 0, host_arena_bytes = 0;
  int64_t peak_bytes = 0;       // lower bound of any device arena
  int64_t workspace_bytes = 0;  // of the Step that needs most; without a GPU that of the emulation
  std::vector<BufferReport> buffers;  // by first use
  std::vector<int64_t> live_bytes;    // bytes of the device arena in use, at each launch
  int64_t needed_bytes = 0;           // device memory: weights, arena, inputs and outputs
  int64_t device_bytes = 0;           // capacity of the device; 0: unknown

  bool fits() const { return device_bytes == 0 || needed_bytes <= device_bytes; }
};

MemoryReport ReportMemory(const Program& program, const DeviceInfo& info);

}  // namespace onnx_cudnn

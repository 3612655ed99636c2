#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/device_info.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// Bytes in an arena, and when they are needed.
struct BufferReport {
  std::string name;  // of the Value; "workspace of NODE"
  Space space = Space::kDevice;
  int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;  // positions in launch order
};

struct MemoryReport {
  int64_t weight_bytes = 0;
  int64_t arena_bytes = 0, host_arena_bytes = 0;
  int64_t peak_bytes = 0;             // no device arena can be smaller
  int64_t workspace_bytes = 0;        // the largest of a Step; of rules alone, the emulation's
  std::vector<BufferReport> buffers;  // by first use
  std::vector<int64_t> live_bytes;    // of the device arena that are needed, at each launch
  int64_t needed_bytes = 0;           // on the device: weights, arena, inputs and outputs
  int64_t device_bytes = 0;           // that it has; 0: not known

  bool fits() const { return device_bytes == 0 || needed_bytes <= device_bytes; }
};

MemoryReport ReportMemory(const Program& program, const DeviceInfo& info);

}  // namespace onnx_cudnn

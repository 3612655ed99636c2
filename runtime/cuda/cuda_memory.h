#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// At least 256-byte aligned, uninitialized, a multiple of 256 bytes; freed with the last owner,
// which waits for the device's work. Space::kHost is pinned memory that the device reads and
// writes at the same address.
//   errors  ResourceExhausted: bytes asked and free
absl::StatusOr<std::shared_ptr<std::byte>> AllocateCudaMemory(int64_t bytes, Space space);

}  // namespace onnx_cudnn

#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Allocates memory: at least 256-byte aligned, uninitialized, a multiple of 256 bytes. Freed with
// its last owner, which waits for the device. Space::kHost is pinned memory that the device
// accesses at the same address.
//   errors  ResourceExhausted: bytes requested and bytes free
absl::StatusOr<std::shared_ptr<std::byte>> AllocateCudaMemory(int64_t bytes, Space space);

}  // namespace onnx_cudnn

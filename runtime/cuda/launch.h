// Kernel launches through the table of CUDA calls.
#pragma once

#include "absl/status/status.h"
#include "runtime/exec/device.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// One launch of a __global__ function.
struct KernelLaunch {
  struct Extent {
    unsigned x = 1, y = 1, z = 1;
  };
  const void* function = nullptr;
  Extent grid, block;
  int shared_bytes = 0;  // dynamic
  int cluster = 1;       // blocks along x
  // Programmatic dependent launch: the kernel itself waits for the preceding launch.
  bool uses_pdl = false;
};

// Loads the function and sets the attributes that its launches need beyond the defaults (shared
// memory above 48 KiB, clusters above 8 blocks). Call it once before the first launch; launches do
// not do it. Thread-safe.
//   errors  FailedPrecondition: the build has no code for this device; Internal
absl::Status PrepareKernel(const KernelLaunch& launch);

// Asynchronous on `stream`. An empty grid launches nothing.
//   arguments  one address for each parameter of the function; read before this returns
absl::Status LaunchKernel(const KernelLaunch& launch, void** arguments, StreamRef stream);

// Asynchronous on `stream`, between any two memories that the device can access.
absl::Status CopyAsync(void* to, const void* from, int64_t bytes, StreamRef stream);
// The same for the rows of a box, by one call.
absl::Status CopyBoxAsync(const BoxCopy& box, StreamRef stream);
// Sets every byte to `value`.
absl::Status FillAsync(void* to, uint8_t value, int64_t bytes, StreamRef stream);

}  // namespace onnx_cudnn

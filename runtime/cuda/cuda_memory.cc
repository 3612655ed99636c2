#include "runtime/cuda/cuda_memory.h"

#include <algorithm>

#include "runtime/base/run_times.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/current_device.h"

namespace onnx_cudnn {
namespace {

// The last vector access of a kernel may extend beyond the last element.
constexpr int64_t kGranule = 256;

void Free(std::byte* data, Space space, int ordinal) {
  if (DeviceIsLost(ordinal)) return;
  const OnCudaDevice own(ordinal);
  const OutsideCaptures lock;
  LogIfFailed(space == Space::kHost ? CUDA_STATUS(cudaFreeHost, data)
                                    : CUDA_STATUS(cudaFree, data));
}

absl::Status AllocationStatus(cudaError_t error, Space space, int64_t bytes) {
  const bool on_host = space == Space::kHost;
  if (error != cudaErrorMemoryAllocation) {
    return CudaStatus(error, on_host ? "cudaHostAlloc" : "cudaMalloc");
  }
  Cuda().cudaGetLastError();
  return OutOfMemory(on_host ? "pinned host memory" : "device memory", bytes);
}

}  // namespace

absl::StatusOr<std::shared_ptr<std::byte>> AllocateCudaMemory(int64_t bytes, Space space) {
  const int64_t granules = std::max((bytes + kGranule - 1) / kGranule, int64_t{1});
  const auto rounded = static_cast<size_t>(granules * kGranule);
  void* data = nullptr;
  cudaError_t error;
  {
    const PhaseTimer timer(space == Space::kHost ? RunPhase::kPin : RunPhase::kAllocate);
    const OutsideCaptures lock;
    error = space == Space::kHost ? Cuda().cudaHostAlloc(&data, rounded, cudaHostAllocDefault)
                                  : Cuda().cudaMalloc(&data, rounded);
  }
  if (error != cudaSuccess) return AllocationStatus(error, space, bytes);
  return std::shared_ptr<std::byte>(
      static_cast<std::byte*>(data),
      [space, ordinal = NotedDevice()](std::byte* bytes) { Free(bytes, space, ordinal); });
}

}  // namespace onnx_cudnn

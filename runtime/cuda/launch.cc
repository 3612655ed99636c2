#include "runtime/cuda/launch.h"

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/run_times.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"

namespace onnx_cudnn {
namespace {

constexpr int kDefaultSharedBytes = 48 << 10;
constexpr int kDefaultCluster = 8;
constexpr uint64_t kFewBlocks = 4;  // of a multiprocessor: bound by latency, not by L1

cudaStream_t Native(StreamRef stream) { return static_cast<cudaStream_t>(stream.native); }

dim3 ToDim3(const KernelLaunch::Extent& extent) { return {extent.x, extent.y, extent.z}; }

// While a multiprocessor changes what of its memory is shared and what is L1, no block can join
// those of another kernel. Where L1 is worth more than that, the launch leaves it alone.
absl::StatusOr<bool> PrefersShared(const KernelLaunch& launch) {
  if (!launch.uses_pdl || launch.shared_bytes > 0) return launch.uses_pdl;
  int device = 0, multiprocessors = 0;
  RETURN_IF_ERROR(CUDA_STATUS(cudaGetDevice, &device));
  RETURN_IF_ERROR(CUDA_STATUS(cudaDeviceGetAttribute, &multiprocessors,
                              cudaDevAttrMultiProcessorCount, device));
  const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  return blocks <= kFewBlocks * static_cast<uint64_t>(multiprocessors);
}

// What a function was allowed on a device so far: a smaller launch must not take it from a larger
// one. Each device needs it, and a Program is compiled on one and launched on all.
absl::Status Allow(const KernelLaunch& launch) {
  if (launch.shared_bytes <= kDefaultSharedBytes && launch.cluster <= kDefaultCluster) {
    return absl::OkStatus();
  }
  struct Allowed {
    int shared_bytes = kDefaultSharedBytes, cluster = kDefaultCluster;
  };
  struct Table {
    absl::Mutex mutex;
    std::map<std::pair<int, const void*>, Allowed> allowed ABSL_GUARDED_BY(mutex);
  };
  static Table& table = *new Table;
  int device = 0;
  RETURN_IF_ERROR(CUDA_STATUS(cudaGetDevice, &device));
  absl::MutexLock lock(table.mutex);
  Allowed& allowed = table.allowed[{device, launch.function}];
  if (launch.shared_bytes > allowed.shared_bytes) {
    RETURN_IF_ERROR(CUDA_STATUS(cudaFuncSetAttribute, launch.function,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes));
    allowed.shared_bytes = launch.shared_bytes;
  }
  if (launch.cluster > allowed.cluster) {
    RETURN_IF_ERROR(CUDA_STATUS(cudaFuncSetAttribute, launch.function,
                                cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    allowed.cluster = launch.cluster;
  }
  return absl::OkStatus();
}

absl::Status Load(const void* function) {
  cudaFuncAttributes attributes;
  const cudaError_t error = Cuda().cudaFuncGetAttributes(&attributes, function);
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction) {
    return CudaStatus(error, "cudaFuncGetAttributes");
  }
  Cuda().cudaGetLastError();
  return absl::FailedPreconditionError(
      "a kernel of this build has no code for this device: build it with the preset cuda");
}

}  // namespace

absl::Status PrepareKernel(const KernelLaunch& launch) {
  const PhaseTimer timer(RunPhase::kLoad);
  const StartScope scope("load kernels");
  const OutsideCaptures lock;  // loading allocates
  RETURN_IF_ERROR(Load(launch.function));
  return Allow(launch);
}

absl::Status LaunchKernel(const KernelLaunch& launch, void** arguments, StreamRef stream) {
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) return absl::OkStatus();
  RETURN_IF_ERROR(Allow(launch));
  std::array<cudaLaunchAttribute, 3> attributes = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = ToDim3(launch.grid);
  config.blockDim = ToDim3(launch.block);
  config.dynamicSmemBytes = static_cast<size_t>(launch.shared_bytes);
  config.stream = Native(stream);
  config.attrs = attributes.data();
  if (launch.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(launch.cluster);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
  if (launch.uses_pdl) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  ASSIGN_OR_RETURN(const bool prefers_shared, PrefersShared(launch));
  if (prefers_shared) {
    cudaLaunchAttribute& carveout = attributes[config.numAttrs++];
    carveout.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    carveout.val.sharedMemCarveout = cudaSharedmemCarveoutMaxShared;
  }
  return CUDA_STATUS(cudaLaunchKernelExC, &config, launch.function, arguments);
}

absl::Status CopyAsync(void* to, const void* from, int64_t bytes, StreamRef stream) {
  if (bytes == 0) return absl::OkStatus();
  return CUDA_STATUS(cudaMemcpyAsync, to, from, static_cast<size_t>(bytes), cudaMemcpyDefault,
                     Native(stream));
}

absl::Status CopyBoxAsync(const BoxCopy& box, StreamRef stream) {
  const auto row_bytes = static_cast<size_t>(box.row_bytes);
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {.ptr = const_cast<std::byte*>(box.from),
                       .pitch = static_cast<size_t>(box.from_row_bytes),
                       .xsize = row_bytes,
                       .ysize = static_cast<size_t>(box.from_plane_rows)};
  parameters.dstPtr = {.ptr = box.to,
                       .pitch = static_cast<size_t>(box.to_row_bytes),
                       .xsize = row_bytes,
                       .ysize = static_cast<size_t>(box.to_plane_rows)};
  parameters.extent = {row_bytes, static_cast<size_t>(box.rows), static_cast<size_t>(box.planes)};
  parameters.kind = cudaMemcpyDefault;
  return CUDA_STATUS(cudaMemcpy3DAsync, &parameters, Native(stream));
}

absl::Status FillAsync(void* to, uint8_t value, int64_t bytes, StreamRef stream) {
  if (bytes == 0) return absl::OkStatus();
  return CUDA_STATUS(cudaMemsetAsync, to, value, static_cast<size_t>(bytes), Native(stream));
}

}  // namespace onnx_cudnn

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/current_device.h"
#include "runtime/gpu/gpu.h"

// Apart from with_cuda.cc, so that a program that only opens a GPU has no kernels in it.
namespace onnx_cudnn {

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(int ordinal, const OnDeviceInfo& on_info) {
  return OpenCudaDevice(ordinal, on_info);
}

KeepCurrentGpu::KeepCurrentGpu(bool uses_gpu) : before_(uses_gpu ? CurrentCudaDevice() : -1) {}
KeepCurrentGpu::~KeepCurrentGpu() { RestoreCudaDevice(before_); }

}  // namespace onnx_cudnn

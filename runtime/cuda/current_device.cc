#include "runtime/cuda/current_device.h"

#include <cuda.h>

#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/driver_function.h"

namespace onnx_cudnn {
namespace {

// Whether this process has a context on that GPU, through the CUDA runtime.
bool HasContext(int ordinal) {
  const absl::StatusOr<decltype(&cuDevicePrimaryCtxGetState)> get_state =
      DriverFunction<decltype(&cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int is_active = 0;
  return get_state.ok() && (*get_state)(ordinal, &flags, &is_active) == CUDA_SUCCESS &&
         is_active != 0;
}

}  // namespace

absl::Status MakeCudaDeviceCurrent(int ordinal) {
  NoteDeviceForThread(ordinal);
  return CUDA_STATUS(cudaSetDevice, ordinal);
}

OnCudaDevice::OnCudaDevice(int ordinal) : noted_(NotedDevice()) {
  if (ordinal == noted_) return;
  before_ = CurrentCudaDevice();
  LogIfFailed(MakeCudaDeviceCurrent(ordinal));
}

OnCudaDevice::~OnCudaDevice() {
  RestoreCudaDevice(before_);
  NoteDeviceForThread(noted_);
}

int CurrentCudaDevice() {
  int ordinal = -1;
  if (Cuda().cudaGetDevice(&ordinal) == cudaSuccess) return ordinal;
  Cuda().cudaGetLastError();
  return -1;
}

void RestoreCudaDevice(int ordinal) {
  if (ordinal < 0) return;
  const int current = CurrentCudaDevice();
  if (ordinal == current) return;
  const bool is_readable = current >= 0;  // a lost one is not, nor are contexts then
  if (is_readable && !HasContext(ordinal)) return;
  LogIfFailed(MakeCudaDeviceCurrent(ordinal));
}

}  // namespace onnx_cudnn

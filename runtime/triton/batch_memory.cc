#include "runtime/triton/batch_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {

absl::Status BatchCopies::Copy(const void* from, const DeviceRef& from_device, void* to,
                               const DeviceRef& to_device, int64_t bytes) {
  const bool is_to_gpu = to_device.kind == DeviceKind::kCuda;
  if (!is_to_gpu && from_device.kind != DeviceKind::kCuda) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(DeviceCopies * gpu, On((is_to_gpu ? to_device : from_device).ordinal));
  return gpu->Copy(from, to, bytes);
}

absl::Status BatchCopies::Wait() {
  absl::Status status;
  for (const auto& [ordinal, gpu] : gpus_) status.Update(gpu->Wait());
  return status;
}

absl::StatusOr<DeviceCopies*> BatchCopies::On(int gpu) {
  std::unique_ptr<DeviceCopies>& found = gpus_[gpu];
  if (found != nullptr) return found.get();
  if (calls_ == nullptr) {
    ASSIGN_OR_RETURN(calls_, LoadCudaCalls());
  }
  ASSIGN_OR_RETURN(found, DeviceCopies::Open(*calls_, gpu));
  return found.get();
}

absl::StatusOr<void*> BatchBuffer::Get(int64_t bytes, const DeviceRef& device,
                                       BatchCopies& copies) {
  const int64_t size = std::max<int64_t>(bytes, 1);
  if (device.kind == DeviceKind::kCuda) {
    if (device_bytes_ < size) {
      ASSIGN_OR_RETURN(DeviceCopies * gpu, copies.On(device.ordinal));
      device_ = nullptr;
      device_bytes_ = 0;
      ASSIGN_OR_RETURN(device_, gpu->Allocate(size));
      device_bytes_ = size;
    }
    return device_.get();
  }
  if (host_.bytes() < size) {
    ASSIGN_OR_RETURN(host_, StatusOr(Tensor::Allocate(DType::kU8, {size})));
  }
  return host_.raw();
}

}  // namespace onnx_cudnn::triton

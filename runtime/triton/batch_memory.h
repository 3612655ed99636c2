// Memory for the rows of a batch, and copies between it and the buffers of requests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "onnx_cudnn/tensor.h"
#include "runtime/triton/device_copies.h"

namespace onnx_cudnn::triton {

// Copies between memory of the host and of GPUs; the driver is opened when a GPU's first appears.
// One caller at a time.
class BatchCopies {
 public:
  // From the host to the host at once; others are enqueued until Wait.
  absl::Status Copy(const void* from, const DeviceRef& from_device, void* to,
                    const DeviceRef& to_device, int64_t bytes);
  absl::Status Wait();
  absl::StatusOr<DeviceCopies*> On(int gpu);
  // For tests: instead of the host's driver.
  void UseCalls(const CudaCalls& calls) { calls_ = &calls; }

 private:
  const CudaCalls* calls_ = nullptr;
  std::map<int, std::unique_ptr<DeviceCopies>> gpus_;
};

// Memory that is used again by the next batch, and grows.
class BatchBuffer {
 public:
  // At least `bytes` of the device, aligned to any element. What it held is lost.
  absl::StatusOr<void*> Get(int64_t bytes, const DeviceRef& device, BatchCopies& copies);

 private:
  Tensor host_;
  std::shared_ptr<void> device_;
  int64_t device_bytes_ = 0;
};

}  // namespace onnx_cudnn::triton

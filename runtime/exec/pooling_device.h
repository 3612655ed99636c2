#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// A Device whose freed memory is kept and given to who asks next: allocating hundreds of megabytes
// takes as long as filling them, of pinned ones far longer. Who lets go of memory has waited for
// what used it. Everything else is as `device` does it. Thread-safe.
class PoolingDevice final : public Device {
 public:
  explicit PoolingDevice(Device& device);  // outlives it and all that was allocated
  ~PoolingDevice() override;

  std::string_view name() const override { return device_.name(); }
  const DeviceInfo& info() const override { return device_.info(); }
  PlatformVersions versions() const override { return device_.versions(); }
  // On the device a kept block of the very size, on the host one of at most twice that. Kept memory
  // is freed before ResourceExhausted.
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override;
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space space) override;
  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    return device_.CreateStreams(count);
  }
  absl::Status MakeCurrent() override { return device_.MakeCurrent(); }
  bool reads_host_memory() const override { return device_.reads_host_memory(); }
  absl::StatusOr<bool> ReadsDirectly(const void* data) override {
    return device_.ReadsDirectly(data);
  }
  bool poisons() const override { return device_.poisons(); }

  void FreeKept(Space space);

 private:
  struct Pool;
  Device& device_;
  const std::shared_ptr<Pool> pool_;
};

}  // namespace onnx_cudnn

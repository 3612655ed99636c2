#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// A Device that keeps freed memory for later allocations: allocating hundreds of megabytes takes as
// long as filling them, and pinned memory takes much longer. Memory must not be freed before the
// work that uses it has ended. Everything else is forwarded to `device`. Thread-safe.
class PoolingDevice final : public Device {
 public:
  explicit PoolingDevice(Device& device);  // must outlive this and all its allocations
  ~PoolingDevice() override;

  std::string_view name() const override { return device_.name(); }
  const DeviceInfo& info() const override { return device_.info(); }
  PlatformVersions versions() const override { return device_.versions(); }
  // Reuses a kept block: on the device one of exactly that size, on the host one of at most twice
  // the size. Frees all kept memory before it returns ResourceExhausted.
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override;
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space space) override;
  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    return device_.CreateStreams(count);
  }
  absl::Status MakeCurrent() override { return device_.MakeCurrent(); }
  bool is_lost() const override { return device_.is_lost(); }
  bool reads_host_memory() const override { return device_.reads_host_memory(); }
  absl::StatusOr<bool> ReadsDirectly(const void* data) override {
    return device_.ReadsDirectly(data);
  }
  absl::Status CopyFromPeer(void* to, const void* from, int peer, int64_t bytes) override {
    return device_.CopyFromPeer(to, from, peer, bytes);
  }
  bool poisons() const override { return device_.poisons(); }

  void FreeKept(Space space);

 private:
  struct Pool;
  Device& device_;
  const std::shared_ptr<Pool> pool_;
};

}  // namespace onnx_cudnn

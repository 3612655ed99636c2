// A Device that passes everything on to another one, for tests that change a part of it.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "runtime/exec/cpu_device.h"

namespace onnx_cudnn {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device = MakeCpuDevice())
      : device_(std::move(device)) {}
  std::string_view name() const override { return device_->name(); }
  const DeviceInfo& info() const override { return device_->info(); }
  bool reads_host_memory() const override { return device_->reads_host_memory(); }
  absl::StatusOr<bool> ReadsDirectly(const void* data) override {
    return device_->ReadsDirectly(data);
  }
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    return device_->Allocate(bytes, space);
  }
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space space) override {
    return device_->Upload(tensor, space);
  }
  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    return device_->CreateStreams(count);
  }
  absl::Status MakeCurrent() override { return device_->MakeCurrent(); }

 private:
  const std::unique_ptr<Device> device_;
};

}  // namespace onnx_cudnn

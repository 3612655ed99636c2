// A Device that passes everything on to another one, for tests that change a part of it.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "runtime/exec/cpu_device.h"

namespace onnx_cudnn {

class ForwardingStreams : public StreamSet {
 public:
  explicit ForwardingStreams(std::unique_ptr<StreamSet> streams) : streams_(std::move(streams)) {}
  absl::Status Launch(int s, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>> scratch) override {
    return streams_->Launch(s, step, args, scratch);
  }
  absl::Status LaunchOnHost(int s, const Step& step, const LaunchArgs& args,
                            absl::Span<const absl::Span<std::byte>> scratch) override {
    return streams_->LaunchOnHost(s, step, args, scratch);
  }
  absl::Status Barrier(int s) override { return streams_->Barrier(s); }
  absl::StatusOr<int> Record(int s) override { return streams_->Record(s); }
  absl::Status Wait(int s, int event) override { return streams_->Wait(s, event); }
  absl::Status Synchronize() override { return streams_->Synchronize(); }
  absl::Status Copy(int s, void* to, const void* from, int64_t bytes) override {
    return streams_->Copy(s, to, from, bytes);
  }
  absl::Status Clear(int s, void* to, int64_t bytes) override {
    return streams_->Clear(s, to, bytes);
  }
  absl::Status BeginCapture() override { return streams_->BeginCapture(); }
  absl::Status BeginCaptureAtOnce() override { return streams_->BeginCaptureAtOnce(); }
  bool CanCaptureNow() const override { return streams_->CanCaptureNow(); }
  absl::StatusOr<std::unique_ptr<CapturedGraph>> EndCapture() override {
    return streams_->EndCapture();
  }
  absl::Status Replay(const CapturedGraph& graph) override { return streams_->Replay(graph); }
  absl::Status Mark(int s, int mark) override { return streams_->Mark(s, mark); }
  absl::StatusOr<double> MsBetween(int from, int to) override {
    return streams_->MsBetween(from, to);
  }
  absl::Status Fork(void* stream) override { return streams_->Fork(stream); }
  absl::Status Join(void* stream) override { return streams_->Join(stream); }

 private:
  const std::unique_ptr<StreamSet> streams_;
};

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
  absl::Status CopyFromPeer(void* to, const void* from, int peer, int64_t bytes) override {
    return device_->CopyFromPeer(to, from, peer, bytes);
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

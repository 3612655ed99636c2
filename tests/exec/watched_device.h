// A CPU device that records the requests to its streams and for which thread it is current.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/forwarding_device.h"

namespace onnx_cudnn {

using Notes = std::vector<std::string>;  // "launch", "launch on host", "barrier"

class WatchedStreams final : public ForwardingStreams {
 public:
  //   is_busy    another thread would keep a capture waiting
  //   gets_busy  one starts after CanCaptureNow
  WatchedStreams(std::unique_ptr<StreamSet> streams, Notes& notes, const bool& is_busy,
                 const bool& gets_busy)
      : ForwardingStreams(std::move(streams)),
        notes_(notes),
        is_busy_(is_busy),
        gets_busy_(gets_busy) {}
  absl::Status Launch(int s, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>> scratch) override {
    notes_.push_back("launch");
    return ForwardingStreams::Launch(s, step, args, scratch);
  }
  absl::Status LaunchOnHost(int s, const Step& step, const LaunchArgs& args,
                            absl::Span<const absl::Span<std::byte>> scratch) override {
    notes_.push_back("launch on host");
    return ForwardingStreams::LaunchOnHost(s, step, args, scratch);
  }
  absl::Status Barrier(int s) override {
    notes_.push_back("barrier");
    return ForwardingStreams::Barrier(s);
  }
  absl::Status BeginCaptureAtOnce() override {
    if (is_busy_ || gets_busy_) return absl::UnavailableError("busy");
    return ForwardingStreams::BeginCaptureAtOnce();
  }
  bool CanCaptureNow() const override { return !is_busy_; }

 private:
  Notes& notes_;
  const bool& is_busy_;
  const bool& gets_busy_;
};

class WatchedDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    absl::StatusOr<std::unique_ptr<StreamSet>> streams = ForwardingDevice::CreateStreams(count);
    return std::make_unique<WatchedStreams>(*std::move(streams), notes, is_busy, gets_busy);
  }
  absl::Status MakeCurrent() override {
    current_for = std::this_thread::get_id();
    return absl::OkStatus();
  }
  Notes notes;
  bool is_busy = false, gets_busy = false;
  std::thread::id current_for;
};

}  // namespace onnx_cudnn

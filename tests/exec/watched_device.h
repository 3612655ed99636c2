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

class WatchedStreams final : public StreamSet {
 public:
  //   is_busy    another thread would keep a capture waiting
  //   gets_busy  one starts after CanCaptureNow
  WatchedStreams(std::unique_ptr<StreamSet> streams, Notes& notes, const bool& is_busy,
                 const bool& gets_busy)
      : streams_(std::move(streams)), notes_(notes), is_busy_(is_busy), gets_busy_(gets_busy) {}
  absl::Status Launch(int s, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>> scratch) override {
    notes_.push_back("launch");
    return streams_->Launch(s, step, args, scratch);
  }
  absl::Status LaunchOnHost(int s, const Step& step, const LaunchArgs& args,
                            absl::Span<const absl::Span<std::byte>> scratch) override {
    notes_.push_back("launch on host");
    return streams_->LaunchOnHost(s, step, args, scratch);
  }
  absl::Status Barrier(int s) override {
    notes_.push_back("barrier");
    return streams_->Barrier(s);
  }
  absl::StatusOr<int> Record(int s) override { return streams_->Record(s); }
  absl::Status Wait(int s, int event) override { return streams_->Wait(s, event); }
  absl::Status Synchronize() override { return streams_->Synchronize(); }
  absl::Status Copy(int s, void* to, const void* from, int64_t bytes) override {
    return streams_->Copy(s, to, from, bytes);
  }
  absl::Status BeginCapture() override { return streams_->BeginCapture(); }
  absl::Status BeginCaptureAtOnce() override {
    if (is_busy_ || gets_busy_) return absl::UnavailableError("busy");
    return streams_->BeginCaptureAtOnce();
  }
  bool CanCaptureNow() const override { return !is_busy_; }
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
  Notes& notes_;
  const bool& is_busy_;
  const bool& gets_busy_;
};

class WatchedDevice final : public ForwardingDevice {
 public:
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

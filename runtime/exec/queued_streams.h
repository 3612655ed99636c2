#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "runtime/exec/device.h"
#include "runtime/exec/host_marks.h"

namespace onnx_cudnn {

// Overwrites dead memory with bytes that are NaN in every float type.
void Poison(absl::Span<const absl::Span<std::byte>> scratch);

struct QueuedStreamsOptions {
  int count = 1;
  uint64_t seed = 0;
  bool poison = false;
  bool captures = false;  // also accepts callers' streams
};

// Keeps one queue per stream and drains them in Synchronize, in a random order that respects only
// the queues and the waits: a schedule that is correct under every seed misses no wait.
class QueuedStreams final : public StreamSet {
 public:
  explicit QueuedStreams(const QueuedStreamsOptions& options);
  ~QueuedStreams() override;

  absl::Status Launch(int stream, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>> scratch) override;
  absl::StatusOr<int> Record(int stream) override;
  absl::Status Wait(int stream, int event) override;
  absl::Status Synchronize() override;
  absl::Status LaunchOnHost(int stream, const Step& step, const LaunchArgs& args,
                            absl::Span<const absl::Span<std::byte>> scratch) override;
  absl::Status Copy(int stream, void* to, const void* from, int64_t bytes) override;
  absl::Status Clear(int stream, void* to, int64_t bytes) override;
  absl::Status BeginCapture() override;
  absl::StatusOr<std::unique_ptr<CapturedGraph>> EndCapture() override;
  absl::Status Replay(const CapturedGraph& graph) override;
  absl::Status Mark(int stream, int mark) override;
  absl::StatusOr<double> MsBetween(int from, int to) override { return marks_.MsBetween(from, to); }
  absl::Status Fork(void* callers_stream) override;
  absl::Status Join(void* callers_stream) override;

 private:
  struct Command;
  struct Work;  // queues and events
  struct Recording;
  Work& enqueued() { return capture_ != nullptr ? *capture_ : *now_; }
  absl::Status Drain(Work work);
  absl::Status RunFront(Work& work, int stream);

  const QueuedStreamsOptions options_;
  std::mt19937_64 random_;
  HostMarks marks_;
  std::unique_ptr<Work> now_;
  std::unique_ptr<Work> capture_;  // between BeginCapture and EndCapture
};

}  // namespace onnx_cudnn

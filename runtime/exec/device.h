#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/device_info.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// What a StreamSet recorded instead of running it. Launched as one; addresses are those of the
// recording.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
};

// The streams of one Executor. Used by one thread at a time.
class StreamSet {
 public:
  virtual ~StreamSet() = default;
  // Enqueues `step`, or runs it at once; it stays alive until Synchronize. Each span of `scratch`
  // is dead memory (outputs and workspace) that a testing Device overwrites just before the Step.
  virtual absl::Status Launch(int stream, const Step& step, const LaunchArgs& args,
                              absl::Span<const absl::Span<std::byte>> scratch) = 0;
  // A point of `stream` after everything enqueued on it; a number for Wait.
  virtual absl::StatusOr<int> Record(int stream) = 0;
  virtual absl::Status Wait(int stream, int event) = 0;
  // What is enqueued on `stream` from now on starts when all before it there is over, even a launch
  // that may start earlier (Step::prefetched_inputs). Nothing where no launch does.
  virtual absl::Status Barrier(int /*stream*/) { return absl::OkStatus(); }
  // Returns the first failure of what was enqueued, and forgets it.
  virtual absl::Status Synchronize() = 0;

  // `step` whose operands are in host memory (Space::kHost), in its turn on `stream`.
  virtual absl::Status LaunchOnHost(int stream, const Step& step, const LaunchArgs& args,
                                    absl::Span<const absl::Span<std::byte>> scratch) = 0;
  // Between any two of: this Device's memory of either Space, memory that ReadsDirectly.
  virtual absl::Status Copy(int stream, void* to, const void* from, int64_t bytes) = 0;

  // Capture. Between Begin and End everything that is enqueued, on any of the streams, is recorded
  // and not run; the recording starts and ends on stream 0, the others fork from it and join it by
  // themselves. Unimplemented, with the reason, where this Device cannot.
  virtual absl::Status BeginCapture() = 0;
  virtual absl::StatusOr<std::unique_ptr<CapturedGraph>> EndCapture() = 0;
  // Enqueues a recording of this StreamSet on stream 0.
  virtual absl::Status Replay(const CapturedGraph& graph) = 0;
  // Milliseconds of each of `replays` replays, one after the other, when all else is done: by the
  // Device's own clock where it has one, else by the host's. Synchronizes.
  virtual absl::StatusOr<std::vector<double>> TimeReplays(const CapturedGraph& graph, int replays);

  // A caller's own stream (cudaStream_t): what is enqueued from now on, on any of the streams, runs
  // after what the caller enqueued there; and what the caller enqueues after Join runs after that.
  virtual absl::Status Fork(void* callers_stream) = 0;
  virtual absl::Status Join(void* callers_stream) = 0;
};

// What a Device runs on, for reports: "570.86.10", "13.0"; empty where there is none.
struct PlatformVersions {
  std::string driver, cuda;
};

// Runs Steps and owns memory; compiles nothing. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  virtual const DeviceInfo& info() const = 0;
  virtual PlatformVersions versions() const { return {}; }
  // 256-byte aligned, uninitialized; freed with the last owner. ResourceExhausted names bytes asked
  // and free.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) = 0;
  // A constant in `space`: the same bytes where the Device reads host memory, else a copy.
  virtual absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                                  Space space) = 0;
  virtual absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) = 0;
  // Makes it the calling thread's GPU. Comes before every other call of that thread to it, its
  // StreamSets and Steps, and to Engines that compile for it.
  virtual absl::Status MakeCurrent() { return absl::OkStatus(); }
  virtual bool reads_host_memory() const { return false; }  // Upload copies nothing
  // Whether Steps may read and write the caller's memory at `data` as it is: on a GPU its own
  // memory, not the host's. InvalidArgument: another device's memory.
  virtual absl::StatusOr<bool> ReadsDirectly(const void* data) = 0;
  virtual bool poisons() const { return false; }  // tests: dead memory is to be overwritten
};

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/device_info.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Work that a StreamSet captured instead of running it. Launched as one unit, with the addresses of
// the capture.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
};

// Rows of bytes on planes, at distances of their own in both memories.
struct BoxCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int64_t row_bytes = 0, rows = 1, planes = 1;
  int64_t to_row_bytes = 0, from_row_bytes = 0;    // from the begin of a row to that of the next
  int64_t to_plane_rows = 0, from_plane_rows = 0;  // from a plane to the next
};

// The streams of one Executor. Used by one thread at a time.
class StreamSet {
 public:
  virtual ~StreamSet() = default;
  // Enqueues `step`, or runs it at once; `step` must stay alive until Synchronize. Each span of
  // `scratch` is memory that holds no live data (outputs and workspace); a testing Device
  // overwrites it just before the Step.
  virtual absl::Status Launch(int stream, const Step& step, const LaunchArgs& args,
                              absl::Span<const absl::Span<std::byte>> scratch) = 0;
  // Marks the point of `stream` after everything enqueued so far; returns a number for Wait.
  virtual absl::StatusOr<int> Record(int stream) = 0;
  virtual absl::Status Wait(int stream, int event) = 0;
  // Work enqueued on `stream` from now on starts only when all earlier work there has ended, even a
  // launch that may otherwise start earlier (Step::prefetched_inputs). Does nothing on Devices
  // without such launches.
  virtual absl::Status Barrier(int /*stream*/) { return absl::OkStatus(); }
  // Returns the first failure of the enqueued work, and clears it.
  virtual absl::Status Synchronize() = 0;

  // Enqueues `step`, whose operands are in host memory (Space::kHost), in stream order.
  virtual absl::Status LaunchOnHost(int stream, const Step& step, const LaunchArgs& args,
                                    absl::Span<const absl::Span<std::byte>> scratch) = 0;
  // Copies between this Device's memory of either Space and memory that ReadsDirectly accepts.
  virtual absl::Status Copy(int stream, void* to, const void* from, int64_t bytes) = 0;
  // The same for all rows of a box; a Copy for each unless the Device has one call for them.
  virtual absl::Status CopyBox(int stream, const BoxCopy& box);
  // Writes zeros to such memory.
  virtual absl::Status Clear(int stream, void* to, int64_t bytes) = 0;

  // Capture. Work enqueued on any stream between Begin and End is recorded and not run. The capture
  // starts and ends on stream 0; the other streams fork from it and join it implicitly.
  // Unimplemented, with the reason, if this Device cannot capture.
  virtual absl::Status BeginCapture() = 0;
  // The same, but Unavailable where it would wait for other threads (for a library that compiles,
  // for example).
  virtual absl::Status BeginCaptureAtOnce() { return BeginCapture(); }
  virtual absl::StatusOr<std::unique_ptr<CapturedGraph>> EndCapture() = 0;
  // Whether BeginCaptureAtOnce would begin now: spares the preparations of a capture that would
  // not.
  virtual bool CanCaptureNow() const { return true; }
  // Enqueues a captured graph of this StreamSet on stream 0.
  virtual absl::Status Replay(const CapturedGraph& graph) = 0;
  // Milliseconds of each of `replays` consecutive replays, when no other work is left: by the
  // Device's clock if it has one, else by the host's. Synchronizes.
  virtual absl::StatusOr<std::vector<double>> TimeReplays(const CapturedGraph& graph, int replays);

  // Notes when everything enqueued on `stream` so far has ended, by the Device's clock. In a
  // capture it becomes part of the graph: each replay notes it anew.
  //   mark  a number ≥ 0 that the caller chooses; its last time counts
  virtual absl::Status Mark(int stream, int mark) = 0;
  // Milliseconds from one mark to another, negative if that one was reached before it. After
  // Synchronize.
  //   errors  Internal: one was not reached
  virtual absl::StatusOr<double> MsBetween(int from, int to) = 0;

  // Orders this StreamSet with a caller's own stream (cudaStream_t): work enqueued from now on, on
  // any stream, runs after what the caller enqueued there; work that the caller enqueues after Join
  // runs after that.
  virtual absl::Status Fork(void* callers_stream) = 0;
  virtual absl::Status Join(void* callers_stream) = 0;
};

// Versions of the software below a Device, for reports: "570.86.10", "13.0"; empty if there is
// none.
struct PlatformVersions {
  std::string driver, cuda;
};

// Runs Steps and owns memory; does not compile. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  virtual const DeviceInfo& info() const = 0;
  virtual PlatformVersions versions() const { return {}; }
  // 256-byte aligned, uninitialized; freed with the last owner. ResourceExhausted names bytes
  // requested and bytes free.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) = 0;
  // A constant in `space`: the same bytes if the Device reads host memory, else a copy.
  virtual absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                                  Space space) = 0;
  virtual absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) = 0;
  // Makes it the current GPU of the calling thread. A thread must call it before it uses the
  // Device, its StreamSets and Steps, or Engines that compile for it.
  virtual absl::Status MakeCurrent() { return absl::OkStatus(); }
  // What it has used since some fixed time, counted in steps of tenths of a second; nullopt:
  // unknown.
  virtual std::optional<double> Joules() const { return std::nullopt; }
  // What it may use, by lowering its clock; nullopt: unknown.
  virtual std::optional<double> PowerLimitWatts() const { return std::nullopt; }
  virtual bool is_lost() const { return false; }            // no call to it succeeds any more
  virtual bool reads_host_memory() const { return false; }  // Upload copies nothing
  // Whether Steps may access the caller's memory at `data` in place: for a GPU its own memory, not
  // host memory. InvalidArgument: memory of another device.
  virtual absl::StatusOr<bool> ReadsDirectly(const void* data) = 0;
  // Copies from the memory of the GPU `peer` to this Device's, and returns when that has ended.
  // InvalidArgument: there is no such GPU.
  virtual absl::Status CopyFromPeer(void* to, const void* from, int peer, int64_t bytes) = 0;
  virtual bool poisons() const { return false; }  // for tests: dead memory is overwritten
};

}  // namespace onnx_cudnn

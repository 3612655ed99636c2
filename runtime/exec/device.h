#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/device_info.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

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
  // Returns the first failure of what was enqueued, and forgets it.
  virtual absl::Status Synchronize() = 0;
};

// Runs Steps and owns memory; compiles nothing. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  virtual const DeviceInfo& info() const = 0;
  // 256-byte aligned, uninitialized; freed with the last owner. ResourceExhausted names bytes asked
  // and free.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) = 0;
  // A constant in `space`: the same bytes where the Device reads host memory, else a copy.
  virtual absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                                  Space space) = 0;
  virtual absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) = 0;
  virtual bool reads_host_memory() const { return false; }  // Upload copies nothing
  virtual bool poisons() const { return false; }  // tests: dead memory is to be overwritten
};

}  // namespace onnx_cudnn

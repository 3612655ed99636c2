// Where the time of a Run goes on the thread that runs it, for reports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "runtime/base/host_span.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

enum class RunPhase : uint8_t {
  kProgram,   // builds a Program
  kLoad,      // loads kernels of ours, at most once each
  kLock,      // waits for other threads: one that builds the same Program, an Executor, the arena,
              // the mutex of captures
  kExecutor,  // makes an Executor: streams, addresses
  kAllocate,  // memory of the device, outputs
  kPin,       // pinned memory
  kMake,      // makes the forms of constants that no Program has used yet
  kUpload,    // copies them to the device
  kCapture,   // captures and instantiates a CUDA graph
  kCopy,      // copies between pageable and pinned memory
  kLaunch,    // enqueues copies and launches, or a graph
  kLibrary,   // launches by cuBLASLt and cuDNN; their first launch of a kernel loads it
  kDevice,    // waits for the device
};
inline constexpr size_t kRunPhases = 13;
std::string_view NameOf(RunPhase phase);  // "program"

// Milliseconds of each phase, without the phases within it.
struct RunTimes {
  std::array<double, kRunPhases> ms = {};

  double& operator[](RunPhase phase) { return ms[static_cast<size_t>(phase)]; }
  double sum() const;
};

// From now on the PhaseTimers of this thread add to `times`; nullptr: to none.
void CollectRunTimes(RunTimes* times);

// A phase lasts as long as this lives; also a HostScope of its name. Costs nothing more than that
// on a thread that collects no times.
class PhaseTimer : NotCopyable {
 public:
  explicit PhaseTimer(RunPhase phase);
  ~PhaseTimer();

 private:
  const HostScope scope_;
  const RunPhase phase_;
  bool is_on_ = false;
  absl::Time start_;
  double within_ms_ = 0;  // in timers made while this one lives
  PhaseTimer* outer_ = nullptr;
};

}  // namespace onnx_cudnn

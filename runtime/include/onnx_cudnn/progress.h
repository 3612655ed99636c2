// What a Session reports while a call takes long.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace onnx_cudnn {

enum class ProgressStage : uint8_t {
  kLoading,     // importing the model, by node
  kOptimizing,  // rewriting its graph, by pass
  kBuilding,    // compiling a Program's partitions for a set of input shapes
  kTuning,      // measuring their candidates on the device, by partition
};

struct Progress {
  ProgressStage stage = ProgressStage::kLoading;
  // Of `total` ≥ 1. `total` may grow while a stage is in progress, and a stage may occur again; the
  // last report of a stage that succeeds has done == total.
  int64_t done = 0, total = 1;
  std::string_view text;  // what is being done: "Conv conv1"; valid during the call
};

// Returns false to cancel the call that reports, which then returns Cancelled; false while a
// Program is tuned in the background ends the tuning of that Program. Called by the thread that
// loads or builds or, in the background, by the Session's; one call at a time per Session. Must not
// throw and must not call the Session. Never called while a Program runs.
using ProgressCallback = std::function<bool(const Progress& progress)>;

}  // namespace onnx_cudnn

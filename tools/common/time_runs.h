#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/report.h"

namespace onnx_cudnn {

struct RunTiming {
  int runs = 0;  // timed runs
  double warm_up_ms = 0;
  bool on_device = false;    // runs use device memory
  bool binds_again = false;  // after the warm-up, to use a Program that was tuned in the background
};

// The outputs of the first run, whose time without building its Program becomes
// report.first_run_ms.
absl::StatusOr<std::vector<Tensor>> RunOnce(const Session& session,
                                            const std::vector<NamedView>& inputs,
                                            RunReport& report);

// Times runs over fixed addresses, so that only the network is timed; stores times in
// report.runs_ms, with the warm-up and the note on CUDA graphs.
absl::Status TimeRuns(const Session& session, const RunTiming& timing,
                      const std::vector<NamedView>& inputs, const std::vector<Tensor>& outputs,
                      RunReport& report);

}  // namespace onnx_cudnn

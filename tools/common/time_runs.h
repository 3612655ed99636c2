#pragma once

#include <vector>

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"
#include "tools/common/report.h"

namespace onnx_cudnn {

struct RunTiming {
  int runs = 0;  // that are timed
  double warm_up_ms = 0;
  bool on_device = false;    // runs read and write the device's memory
  bool binds_again = false;  // after the warm-up, for a Program that was tuned in the background
};

// Times runs over fixed addresses, so that what is timed is the network alone, into report.runs_ms,
// with its warm-up and its note on CUDA graphs.
absl::Status TimeRuns(const Session& session, const RunTiming& timing,
                      const std::vector<NamedView>& inputs, const std::vector<Tensor>& outputs,
                      RunReport& report);

}  // namespace onnx_cudnn

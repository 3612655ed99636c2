#pragma once

#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// StreamSet's marks for Devices that run their work on the host: times of the host's clock.
class HostMarks {
 public:
  void Set(int mark);  // ≥ 0
  absl::StatusOr<double> MsBetween(int from, int to) const;

 private:
  std::vector<double> us_;  // by mark, of HostClockUs; 0: not set
};

}  // namespace onnx_cudnn

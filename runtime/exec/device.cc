#include "runtime/exec/device.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

absl::StatusOr<std::vector<double>> StreamSet::TimeReplays(const CapturedGraph& graph,
                                                           int replays) {
  RETURN_IF_ERROR(Synchronize());
  std::vector<double> ms;
  for (int i = 0; i < replays; ++i) {
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(Replay(graph));
    RETURN_IF_ERROR(Synchronize());
    ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
  }
  return ms;
}

}  // namespace onnx_cudnn

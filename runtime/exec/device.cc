#include "runtime/exec/device.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

absl::Status StreamSet::CopyBox(int stream, const BoxCopy& box) {
  for (int64_t plane = 0; plane < box.planes; ++plane) {
    for (int64_t row = 0; row < box.rows; ++row) {
      RETURN_IF_ERROR(Copy(stream, box.to + (plane * box.to_plane_rows + row) * box.to_row_bytes,
                           box.from + (plane * box.from_plane_rows + row) * box.from_row_bytes,
                           box.row_bytes));
    }
  }
  return absl::OkStatus();
}

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

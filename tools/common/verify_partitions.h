// What partitions say beside outputs: where values overflow, and where a difference begins.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/report.h"
#include "tools/common/run_for_report.h"

namespace onnx_cudnn {

// The partitions of a run, checked where they are asked for first.
class PartitionChecks {
 public:
  // Both must outlive it.
  PartitionChecks(const Session& session, const std::vector<NamedView>& inputs)
      : session_(session), inputs_(inputs) {}
  // Errors as for Session::CheckPartitions.
  const absl::StatusOr<std::vector<CheckedPartition>>& Get();

 private:
  const Session& session_;
  const std::vector<NamedView>& inputs_;
  std::optional<absl::StatusOr<std::vector<CheckedPartition>>> checked_;
};

// Sets report.warning where f16 or bf16, of the run's precision or of the model itself, makes a
// value NaN or infinite that f32 does not. Without --verify and --check-partitions values that are
// no outputs are not looked at.
//   report  with its outputs
void WarnOfOverflow(const RunRequest& request, PrecisionChoice precision,
                    const std::vector<NamedView>& inputs, PartitionChecks& checks,
                    RunReport& report);

// For outputs that differ from the references: puts the first partition that is wrong into
// report.partitions; where none is, says so in report.divergence.
void FindDivergence(PartitionChecks& checks, RunReport& report);

}  // namespace onnx_cudnn

// Measuring Runs of an Executor.
#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/exec/executor.h"

namespace onnx_cudnn {

absl::StatusOr<std::vector<double>> Executor::Time(absl::Span<const void* const> inputs,
                                                   absl::Span<void* const> outputs, int runs) {
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(Run(inputs, outputs));
  if (graph_ != nullptr) {
    RETURN_IF_ERROR(LockArena());
    const absl::Cleanup end = [this] { UnlockArena(); };
    ASSIGN_OR_RETURN(std::vector<double> ms, streams_->TimeReplays(*graph_, runs));
    RETURN_IF_ERROR(Synchronize());
    return ms;
  }
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(Run(inputs, outputs));
    ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
  }
  return ms;
}

}  // namespace onnx_cudnn

// Measuring Runs of an Executor.
#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/host_span.h"
#include "runtime/base/nvtx.h"
#include "runtime/base/status.h"
#include "runtime/exec/executor.h"

namespace onnx_cudnn {
namespace {

// Valid as long as the Node.
const char* RangeName(const Candidate& candidate) {
  if (candidate.nodes.empty()) return "step";
  const Node& first = *candidate.nodes[0];
  return (first.name().empty() ? first.op() : first.name()).c_str();
}

}  // namespace

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

absl::Status Executor::Mark(int stream, int mark) {
  if (!options_.times_steps) return absl::OkStatus();
  if (mark == kBeforeCopyIn) begun_us_ = HostClockUs();
  return streams_->Mark(stream, mark);
}

// Between its marks, and in an NVTX range with the name of its first Node.
absl::Status Executor::LaunchInRange(int index, int stream) {
  const int before = kCopyMarks + 2 * index;
  RETURN_IF_ERROR(Mark(stream, before));
  PushNvtxRange(RangeName(program_->partitions[index].chosen));
  const absl::Cleanup end = PopNvtxRange;
  RETURN_IF_ERROR(LaunchStep(index));
  return Mark(stream, before + 1);
}

absl::StatusOr<RunTimeline> Executor::LastRun() const {
  RunTimeline run{.begin_us = begun_us_,
                  .is_replay = graph_ != nullptr,
                  .bytes_in = staging_.bytes_copied_in(),
                  .bytes_out = staging_.bytes_copied_out()};
  const auto between = [&](int before) -> absl::StatusOr<RunTimeline::Span> {
    ASSIGN_OR_RETURN(const double begin_ms, streams_->MsBetween(kBeforeCopyIn, before));
    ASSIGN_OR_RETURN(const double ms, streams_->MsBetween(before, before + 1));
    return RunTimeline::Span{.begin_us = 1e3 * begin_ms, .us = 1e3 * ms};
  };
  ASSIGN_OR_RETURN(run.copies_in, between(kBeforeCopyIn));
  ASSIGN_OR_RETURN(run.copies_out, between(kBeforeCopyOut));
  for (size_t i = 0; i < program_->partitions.size(); ++i) {
    RunTimeline::Span& span = run.steps.emplace_back();
    if (!program_->partitions[i].step->launches()) continue;
    ASSIGN_OR_RETURN(span, between(kCopyMarks + 2 * static_cast<int>(i)));
  }
  return run;
}

}  // namespace onnx_cudnn

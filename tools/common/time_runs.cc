#include "tools/common/time_runs.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/session/collected_run_times.h"
#include "runtime/session/process_start_times.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

// Replaces views of the host's memory by copies on the device.
absl::Status MoveToDevice(const Session& session, std::vector<NamedView>& views,
                          std::vector<Tensor>& copies) {
  for (NamedView& view : views) {
    Result<Tensor> copy = session.ToDevice(view.view);
    if (!copy.ok()) return ToStatus(copy.error());
    copies.push_back(std::move(copy).value());
    view.view = copies.back().view();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> RunOnce(const Session& session,
                                            const std::vector<NamedView>& inputs,
                                            RunReport& report) {
  const absl::Time start = absl::Now();
  Result<std::vector<Tensor>> outputs = [&] {
    const CollectedRunTimes collected(report.first_times);
    return session.Run(inputs);
  }();
  if (!outputs.ok()) return ToStatus(outputs.error());
  report.first_ms = MsSince(start);
  report.first_run_ms = report.first_ms - session.stats().plan_ms;
  report.start = ProcessStartTimes();
  return std::move(outputs).value();
}

absl::Status TimeRuns(const Session& session, const RunTiming& timing,
                      const std::vector<NamedView>& inputs, const std::vector<Tensor>& outputs,
                      RunReport& report) {
  if (timing.runs == 0) return absl::OkStatus();
  std::vector<NamedView> views;
  for (const Tensor& output : outputs) views.push_back(output.view());
  std::vector<Tensor> on_device;  // keeps the copies alive
  std::vector<NamedView> fed = inputs;
  if (timing.on_device) {
    RETURN_IF_ERROR(MoveToDevice(session, fed, on_device));
    RETURN_IF_ERROR(MoveToDevice(session, views, on_device));
  }
  Result<Binding> binding = session.Bind(fed, views);
  if (!binding.ok()) return ToStatus(binding.error());
  const absl::Time start = absl::Now();
  while (MsSince(start) < timing.warm_up_ms) {
    RETURN_IF_ERROR(ToStatus(binding.value().Run()));
  }
  if (timing.warm_up_ms > 0) report.warm_up_ms = MsSince(start);
  if (timing.binds_again) {
    binding = session.Bind(fed, views);  // uses what has been tuned so far
    if (!binding.ok()) return ToStatus(binding.error());
    for (int i = 0; i < 2; ++i) {  // the second run captures its graph
      RETURN_IF_ERROR(ToStatus(binding.value().Run()));
    }
  }
  for (int i = 0; i < timing.runs; ++i) {
    const absl::Time run_start = absl::Now();
    RETURN_IF_ERROR(ToStatus(binding.value().Run()));
    report.runs_ms.push_back(MsSince(run_start));
  }
  report.graph_note = binding.value().graph_note();
  return absl::OkStatus();
}

}  // namespace onnx_cudnn

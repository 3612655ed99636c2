#include "tools/common/new_shapes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/session/collected_run_times.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kFirstRuns = 4;  // the second one captures a CUDA graph
constexpr size_t kLastRuns = 20;

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

// Runs once and appends its time.
absl::Status TimeRun(const Session& session, const std::vector<NamedView>& inputs,
                     std::vector<double>& all, NewShapeTimes& times) {
  RunTimes phases;
  const CollectedRunTimes collected(phases);
  const absl::Time start = absl::Now();
  const Result<std::vector<Tensor>> outputs = session.Run(inputs);
  const double ms = MsSince(start);
  if (!outputs.ok()) return ToStatus(outputs.error());
  if (all.empty()) times.first_times = phases;
  if (ms > times.longest_ms) {
    times.longest_ms = ms;
    times.longest_run = static_cast<int64_t>(all.size());
    times.longest_times = phases;
  }
  all.push_back(ms);
  return absl::OkStatus();
}

absl::StatusOr<NewShapeTimes> TimeShape(const Session& session, const InputRequest& request,
                                        double settle_ms) {
  ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs, MakeInputs(session.inputs(), request));
  std::vector<NamedView> views;
  for (const ModelInput& input : inputs) views.emplace_back(input.name, ViewOf(input.tensor));
  NewShapeTimes times{.inputs = absl::StrJoin(inputs, ", ", [](std::string* out, const auto& i) {
                        absl::StrAppend(out, i.name, ToString(i.tensor.dims()));
                      })};
  const int64_t swapped_before = session.stats().programs_swapped;
  std::vector<double> all;
  const absl::Time start = absl::Now();
  while (all.size() < kFirstRuns || MsSince(start) < settle_ms) {
    RETURN_IF_ERROR(TimeRun(session, views, all, times));
  }
  times.first_ms.assign(all.begin(), all.begin() + kFirstRuns);
  for (size_t i = 0; i < kLastRuns; ++i) RETURN_IF_ERROR(TimeRun(session, views, all, times));
  times.steady_ms = SummarizeTimes({all.end() - kLastRuns, all.end()}).median;
  times.swapped = session.stats().programs_swapped - swapped_before;
  return times;
}

}  // namespace

absl::StatusOr<std::vector<NewShapeTimes>> TimeNewShapes(const Session& session,
                                                         const std::vector<std::string>& shapes,
                                                         const InputRequest& request,
                                                         double settle_ms) {
  std::vector<NewShapeTimes> times;
  for (const std::string& set : shapes) {
    InputRequest with = request;
    with.shapes.clear();
    for (std::string_view shape : absl::StrSplit(set, ';')) AppendShape(shape, with.shapes);
    ASSIGN_OR_RETURN(times.emplace_back(), TimeShape(session, with, settle_ms));
  }
  return times;
}

}  // namespace onnx_cudnn

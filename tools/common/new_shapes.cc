#include "tools/common/new_shapes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kFirstRuns = 4;  // the second one captures a CUDA graph
constexpr size_t kLastRuns = 20;

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

absl::StatusOr<double> TimeRun(const Session& session, const std::vector<NamedView>& inputs) {
  const absl::Time start = absl::Now();
  const Result<std::vector<Tensor>> outputs = session.Run(inputs);
  const double ms = MsSince(start);
  if (!outputs.ok()) return ToStatus(outputs.error());
  return ms;
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
    ASSIGN_OR_RETURN(all.emplace_back(), TimeRun(session, views));
  }
  times.first_ms.assign(all.begin(), all.begin() + kFirstRuns);
  std::vector<double> last(kLastRuns);
  for (double& ms : last) {
    ASSIGN_OR_RETURN(ms, TimeRun(session, views));
  }
  times.steady_ms = SummarizeTimes(last).median;
  all.insert(all.end(), last.begin(), last.end());
  times.longest_ms = *std::max_element(all.begin(), all.end());
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

#include "tools/common/tune.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/tune/plan_cache.h"
#include "tools/common/exit_codes.h"
#include "tools/common/progress_bar.h"

namespace onnx_cudnn {
namespace {

absl::Status TuneModel(const std::string& model, const PlanCacheRequest& request,
                       std::string& text) {
  SessionOptions options = request.session;
  options.tune_progress = TuneProgressBar();
  Result<Session> loaded = Session::Load(model, options);
  if (!loaded.ok()) return ToStatus(loaded.error());
  const Session& session = loaded.value();
  if (session.device_ref().kind != DeviceKind::kCuda) {
    return absl::FailedPreconditionError("tuning measures on a GPU, this is the CPU device");
  }
  ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs,
                   MakeInputs(session.inputs(), {.shapes = request.shapes}));
  std::vector<NamedView> views;
  for (const ModelInput& input : inputs) views.emplace_back(input.name, ViewOf(input.tensor));
  if (auto built = session.OutputsFor(views); !built.ok()) return ToStatus(built.error());
  if (session.stats().programs_built == 0) {  // it runs as several, of which each needs the last
    if (auto ran = session.Run(views); !ran.ok()) return ToStatus(ran.error());
  }
  const SessionStats stats = session.stats();
  absl::StrAppendFormat(&text, "tuned   %s: %d signatures measured in %.1f s, %d known\n", model,
                        stats.tuned_signatures, stats.tune_ms / 1e3, stats.cached_signatures);
  for (const std::string& note : stats.tune_notes) {
    absl::StrAppendFormat(&text, "note    %s\n", note);
  }
  return absl::OkStatus();
}

std::string Listed(const PlanFile& file) {
  std::string text;
  for (const auto& [key, e] : file.entries) {
    const std::string joules = e.joules.has_value() ? absl::StrFormat("  %.4f J", *e.joules) : "";
    absl::StrAppendFormat(&text, "%s  %s %s  %.3f us%s  %s%s  %s\n", e.device, e.engine,
                          e.engine_version, e.us, joules, e.date, e.checked ? "" : "  not checked",
                          e.variant);
  }
  for (const auto& [key, f] : file.failed) {
    absl::StrAppendFormat(&text, "%s  %s %s  %s  %s  %s\n", f.device, f.engine, f.engine_version,
                          f.how, f.date, f.variant.empty() ? f.why : f.variant);
  }
  absl::StrAppendFormat(&text, "%d entries, %d failed\n", file.entries.size(), file.failed.size());
  return text;
}

}  // namespace

absl::StatusOr<std::string> WorkOnPlanCache(const PlanCacheRequest& request) {
  const std::string& path = request.session.plan_cache;
  std::string text;
  if (!request.merge.empty()) RETURN_IF_ERROR(MergePlanCaches(path, request.merge));
  if (!request.prune.empty()) {
    ASSIGN_OR_RETURN(const int pruned, PrunePlanCache(path, request.prune));
    absl::StrAppendFormat(&text, "pruned  %d entries\n", pruned);
  }
  for (const std::string& model : request.models) {
    const absl::Status tuned = TuneModel(model, request, text);
    if (!tuned.ok()) return Annotate(tuned, model);
  }
  if (!request.list) return text;
  ASSIGN_OR_RETURN(const PlanFile file, ReadPlanFile(path));
  return text + Listed(file);
}

}  // namespace onnx_cudnn

#include "tools/common/profile_model.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/session/explain_run.h"
#include "tools/common/chrome_trace.h"
#include "tools/common/exit_codes.h"
#include "tools/common/explain_json.h"
#include "tools/common/report_page.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

// The last run: it is measured, and its steps have places on the timeline.
absl::StatusOr<std::string> RunPage(const RunProfile& profile, const Explanation& explanation,
                                    const RunReport& report, Json run) {
  Json json = ProfileJson(profile, ProfileBy::kStep);
  const std::vector<ProfiledSpan>& spans = profile.runs.back().steps;
  for (size_t i = 0; i < spans.size(); ++i) {
    json["steps"][i]["begin_us"] = spans[i].begin_us;
    json["steps"][i]["last_us"] = spans[i].us;
  }
  return ReportPage({{"model", report.model},
                     {"device", report.device},
                     {"precision", report.precision},
                     {"programs", Json::array({Json::parse(ExplainJson(explanation))})},
                     {"profile", std::move(json)},
                     {"run", std::move(run)}});
}

}  // namespace

SessionProfiler::SessionProfiler(const ProfileRequest& request) : request_(request) {
  if (!request.trace.empty()) collected_.emplace(calls_);
}

absl::Status SessionProfiler::Finish(const Session& session, const std::vector<NamedView>& inputs,
                                     RunReport& report) {
  if (!request_.is_asked()) return absl::OkStatus();
  Result<RunProfile> profile = session.Profile(inputs, {.runs = request_.runs});
  collected_.reset();
  if (!profile.ok()) return ToStatus(profile.error());
  if (!request_.trace.empty()) {
    RETURN_IF_ERROR(
        WriteFile(request_.trace, ChromeTrace(profile.value(), calls_, session.device())));
    report.trace = request_.trace;
  }
  if (!request_.page.empty()) {
    ASSIGN_OR_RETURN(const Explanation explanation, SessionExplainer::Explain(session, inputs));
    ASSIGN_OR_RETURN(const std::string page,
                     RunPage(profile.value(), explanation, report,
                             RunFactsJson(session.device_facts(), request_.flags)));
    RETURN_IF_ERROR(WriteFile(request_.page, page));
  }
  report.profile_by = request_.by;
  if (request_.table) report.profile = std::move(profile).value();
  return absl::OkStatus();
}

}  // namespace onnx_cudnn

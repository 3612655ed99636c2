#include "tools/common/profile_model.h"

#include <utility>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/common/chrome_trace.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {

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
  report.profile_by = request_.by;
  if (request_.table) report.profile = std::move(profile).value();
  return absl::OkStatus();
}

}  // namespace onnx_cudnn

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/host_span.h"
#include "runtime/session/collected_host_spans.h"
#include "tools/common/report.h"

namespace onnx_cudnn {

// What --profile, --trace and --report ask for.
struct ProfileRequest {
  bool table = false;
  ProfileBy by = ProfileBy::kStep;
  std::string trace;  // a file; empty: none
  std::string page;   // the same: of --report
  std::string flags;  // the command line, for the page
  int runs = 20;

  bool is_asked() const { return table || !trace.empty() || !page.empty(); }
};

// The profile of a Session and, if a trace is asked for, what its thread does from the time when
// this is made until Finish.
class SessionProfiler {
 public:
  explicit SessionProfiler(const ProfileRequest& request);
  // Profiles runs on `inputs`, stores the result in report.profile, and writes the trace and the
  // page; does nothing if none is asked for.
  absl::Status Finish(const Session& session, const std::vector<NamedView>& inputs,
                      RunReport& report);

 private:
  const ProfileRequest request_;
  std::vector<HostSpan> calls_;
  std::optional<CollectedHostSpans> collected_;
};

}  // namespace onnx_cudnn

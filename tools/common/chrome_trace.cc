#include "tools/common/chrome_trace.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHost = 1, kDevice = 2;  // "processes", which group tracks

class Trace {
 public:
  Trace(const RunProfile& profile, const std::vector<HostSpan>& calls) : profile_(profile) {
    double first_us = std::numeric_limits<double>::infinity();
    for (const ProfiledRun& run : profile.runs) first_us = std::min(first_us, run.begin_us);
    for (const HostSpan& call : calls) first_us = std::min(first_us, call.begin_us);
    first_us_ = first_us;
  }

  void NameTrack(int process, int track, std::string_view name) {
    AddName("thread_name", process, track, name);
    events_.push_back({{"ph", "M"},
                       {"name", "thread_sort_index"},
                       {"pid", process},
                       {"tid", track},
                       {"args", {{"sort_index", track}}}});
  }
  void NameProcess(int process, std::string_view name) {
    AddName("process_name", process, 0, name);
  }

  void AddCall(const HostSpan& call) {
    Add(kHost, 0, call.name, call.begin_us, call.us, Json::object());
  }

  void AddRun(int index) {
    const ProfiledRun& run = profile_.runs[index];
    AddCopy(run, run.copies_in, "host to device", profile_.bytes_in, index);
    for (size_t i = 0; i < profile_.steps.size(); ++i) {
      const ProfiledStep& step = profile_.steps[i];
      const ProfiledSpan& span = run.steps[i];
      const auto [process, track] = TrackOf(step);
      Add(process, track, step.nodes[0], run.begin_us + span.begin_us, span.us,
          {{"run", index},
           {"step", step.index},
           {"segment", step.segment},
           {"ops", step.ops},
           {"nodes", step.nodes},
           {"engine", step.engine},
           {"variant", step.variant},
           {"replay", run.is_replay}});
    }
    AddCopy(run, run.copies_out, "device to host", profile_.bytes_out, index);
  }

  std::string Text() && {
    Json trace;
    trace["traceEvents"] = std::move(events_);
    return JsonText(trace, /*indent=*/-1);
  }

 private:
  void AddName(std::string_view what, int process, int track, std::string_view name) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process},
                       {"tid", track},
                       {"args", {{"name", name}}}});
  }
  std::pair<int, int> TrackOf(const ProfiledStep& step) const {
    if (step.index >= 0) return {kDevice, step.stream};
    return step.engine == "copy" ? std::pair(kDevice, profile_.streams) : std::pair(kHost, 1);
  }
  void AddCopy(const ProfiledRun& run, const ProfiledSpan& span, std::string_view name,
               int64_t bytes, int index) {
    if (bytes == 0) return;
    Add(kDevice, profile_.streams, name, run.begin_us + span.begin_us, span.us,
        {{"run", index}, {"bytes", bytes}});
  }
  void Add(int process, int track, std::string_view name, double begin_us, double us, Json args) {
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"pid", process},
                       {"tid", track},
                       {"ts", begin_us - first_us_},
                       {"dur", us},
                       {"args", std::move(args)}});
  }

  const RunProfile& profile_;
  double first_us_;
  Json events_ = Json::array();
};

}  // namespace

std::string ChromeTrace(const RunProfile& profile, const std::vector<HostSpan>& calls,
                        std::string_view device) {
  Trace trace(profile, calls);
  trace.NameProcess(kHost, "host");
  trace.NameTrack(kHost, 0, "calls");
  trace.NameProcess(kDevice, absl::StrCat("device ", device));
  for (int s = 0; s < profile.streams; ++s) {
    trace.NameTrack(kDevice, s, absl::StrCat("stream ", s));
  }
  const auto is_copy = [](const ProfiledStep& step) { return step.engine == "copy"; };
  const bool has_copies = std::any_of(profile.steps.begin(), profile.steps.end(), is_copy);
  if (profile.segments > 0) trace.NameTrack(kHost, 1, "between programs");
  if (has_copies || profile.bytes_in + profile.bytes_out > 0) {
    trace.NameTrack(kDevice, profile.streams, "copies");
  }
  for (const HostSpan& call : calls) trace.AddCall(call);
  for (size_t run = 0; run < profile.runs.size(); ++run) trace.AddRun(static_cast<int>(run));
  return std::move(trace).Text();
}

}  // namespace onnx_cudnn

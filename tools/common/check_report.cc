#include "tools/common/check_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/session/model_checker.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

bool IsInvalid(const RefusedNode& refused) { return refused.code == ErrorCode::kInvalidArgument; }

std::string FormOf(const RefusedNode& refused) {
  if (refused.op.empty()) return "model";
  if (refused.opset == 0) return refused.op;
  return absl::StrFormat("%s (opset %d)", refused.op, refused.opset);
}

// The refused nodes, those of equal op and reason together, in order of the first.
struct RefusedGroup {
  const RefusedNode* first;
  std::vector<std::string> nodes;
};

std::vector<RefusedGroup> Grouped(const std::vector<RefusedNode>& refused) {
  std::map<std::tuple<std::string, int, std::string>, size_t> places;
  std::vector<RefusedGroup> groups;
  for (const RefusedNode& r : refused) {
    const auto [place, added] = places.try_emplace({r.op, r.opset, r.reason}, groups.size());
    if (added) groups.push_back({&r, {}});
    groups[place->second].nodes.push_back(r.node);
  }
  return groups;
}

void AppendRefused(const ModelCheck& check, std::string& text) {
  for (const RefusedGroup& group : Grouped(check.refused)) {
    const RefusedNode& first = *group.first;
    const std::string form = FormOf(first);  // with which most reasons begin
    const bool begins = absl::StartsWith(first.reason, form);
    absl::StrAppendFormat(&text, "%s%5d  %s%s\n", IsInvalid(first) ? "invalid" : "refused",
                          group.nodes.size(), begins ? "" : form + ": ", first.reason);
    if (first.op.empty()) continue;
    for (const std::string& node : group.nodes) {
      absl::StrAppend(&text, "              ", node, "\n");
    }
  }
  if (check.unchecked > 0) {
    absl::StrAppendFormat(&text, "open   %5d  nodes whose shapes follow from what is refused\n",
                          check.unchecked);
  }
  if (check.later > 0) {
    absl::StrAppendFormat(
        &text, "later  %5d  nodes behind what runs between programs: checked when they run\n",
        check.later);
  }
}

std::string EnginesText(const std::vector<EngineNodes>& engines) {
  return absl::StrJoin(engines, ", ", [](std::string* out, const EngineNodes& e) {
    absl::StrAppend(out, e.nodes, " ", e.engine);
  });
}

int64_t NodesThatRun(const ModelCheck& check) {
  int64_t nodes = 0;
  for (const EngineNodes& engine : check.engines) nodes += engine.nodes;
  return nodes;
}

}  // namespace

absl::StatusOr<CheckReport> CheckForReport(const std::string& model, const SessionOptions& session,
                                           const InputRequest& request) {
  const absl::Time start = absl::Now();
  CheckReport report{.model = model};
  ASSIGN_OR_RETURN(const ModelChecker checker, ModelChecker::Load(model, session));
  ASSIGN_OR_RETURN(const auto filled, ShapesOf(checker.inputs(), request.shapes));
  InputRequest values = request;
  std::erase_if(values.sources, [](const NamedText& source) {
    return source.text == "random" || source.text == "zeros";
  });
  ASSIGN_OR_RETURN(const NamedTensors tensors, SaidInputs(checker.inputs(), values));
  std::map<std::string, Dims, std::less<>> dims;
  for (const auto& [name, input] : filled) {
    const auto value = tensors.find(name);
    dims[name] = value == tensors.end() ? input.dims : value->second.dims();
    if (value == tensors.end()) report.taken[name] = input.taken;
  }
  ASSIGN_OR_RETURN(report.check, checker.Check(dims, tensors));
  report.ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  return report;
}

std::string CheckText(const CheckReport& report) {
  const ModelCheck& check = report.check;
  std::string text = absl::StrFormat("model   %s\ntarget  %s\n", report.model, check.target);
  for (const ValueInfo& input : check.inputs) {
    absl::StrAppend(&text, "input   ", ToString(input));
    const auto taken = report.taken.find(input.name);
    const bool has_words = taken != report.taken.end() && !taken->second.empty();
    absl::StrAppend(&text, has_words ? absl::StrCat("  ", taken->second) : "", "\n");
  }
  absl::StrAppendFormat(&text, "nodes   %d in the file; %d run after the rewrites",
                        check.file_nodes, NodesThatRun(check));
  if (!check.engines.empty()) absl::StrAppend(&text, ": ", EnginesText(check.engines));
  text += "\n";
  AppendRefused(check, text);
  if (check.runs()) {
    text += check.later == 0 ? "runs    yes: every node runs\n"
                             : "runs    yes, as far as nodes are checked before the run\n";
  } else {
    absl::StrAppendFormat(&text, "runs    no: refused %d, open %d\n", check.refused.size(),
                          check.unchecked);
  }
  return text;
}

std::string CheckJson(const CheckReport& report) {
  const ModelCheck& check = report.check;
  Json json = {{"model", report.model},          {"target", check.target},
               {"runs", check.runs()},           {"inputs", Json::array()},
               {"file_nodes", check.file_nodes}, {"engines", Json::object()},
               {"refused", Json::array()},       {"unchecked", check.unchecked},
               {"later", check.later},           {"ms", report.ms}};
  for (const ValueInfo& input : check.inputs) {
    const std::string text = ToString(input);  // the name, a blank, the type
    json["inputs"].push_back({{"name", input.name}, {"type", text.substr(input.name.size() + 1)}});
  }
  for (const EngineNodes& engine : check.engines) json["engines"][engine.engine] = engine.nodes;
  for (const RefusedNode& refused : check.refused) {
    json["refused"].push_back({{"node", refused.node},
                               {"op", refused.op},
                               {"opset", refused.opset},
                               {"invalid", IsInvalid(refused)},
                               {"reason", refused.reason}});
  }
  return JsonText(json, /*indent=*/1);
}

ExitCode ExitCodeOf(const CheckReport& report) {
  if (report.check.runs()) return kExitDone;
  const auto& refused = report.check.refused;
  return std::any_of(refused.begin(), refused.end(), IsInvalid) ? kExitInvalid : kExitUnsupported;
}

}  // namespace onnx_cudnn

#include "tools/common/max_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/exec/compare.h"
#include "runtime/graph/op_library.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/engines.h"
#include "runtime/session/optimized_graph.h"
#include "tools/common/json_text.h"
#include "tools/common/load_session.h"
#include "tools/common/node_names.h"
#include "tools/common/plan_flags.h"
#include "tools/common/reference_run.h"

namespace onnx_cudnn {
namespace {

constexpr absl::Duration kMostTime = absl::Seconds(50);

using Groups = std::vector<std::vector<std::string>>;

std::vector<std::string> Names(const Groups& groups) {
  std::vector<std::string> names;
  for (const std::vector<std::string>& group : groups) {
    names.insert(names.end(), group.begin(), group.end());
  }
  return names;
}

class Search {
 public:
  explicit Search(const KeepRequest& request) : request_(request) {}

  absl::StatusOr<Kept> Run() {
    const Groups& all = request_.groups;
    ASSIGN_OR_RETURN(bool reached, Reaches({}));
    if (reached) return std::move(best_);
    ASSIGN_OR_RETURN(reached, Reaches(all));
    if (!reached) return std::move(best_);
    size_t few = 0, enough = all.size();
    while (enough - few > 1 && !IsOver()) {
      const size_t middle = (few + enough) / 2;
      ASSIGN_OR_RETURN(reached, Reaches({all.begin(), all.begin() + middle}));
      (reached ? enough : few) = middle;
    }
    Groups needed(all.begin(), all.begin() + enough);
    for (size_t part = needed.size() / 2; part > 0; part /= 2) {
      RETURN_IF_ERROR(DropParts(part, needed));
    }
    return std::move(best_);
  }

 private:
  bool IsOver() const { return absl::Now() >= request_.deadline; }

  absl::StatusOr<bool> Reaches(const Groups& groups) {
    ++best_.runs;
    std::vector<std::string> keep = Names(groups);
    ASSIGN_OR_RETURN(const double error, request_.error(keep));
    const bool reached = error <= request_.most;
    if (reached || !best_.is_reached) {
      best_.is_reached = reached;
      best_.keep = std::move(keep);
      best_.error = error;
    }
    return reached;
  }

  // Leaves out `part` groups at a time, wherever the rest is enough.
  absl::Status DropParts(size_t part, Groups& groups) {
    for (size_t i = 0; i + part <= groups.size() && groups.size() > part && !IsOver();) {
      Groups rest(groups.begin(), groups.begin() + i);
      rest.insert(rest.end(), groups.begin() + i + part, groups.end());
      ASSIGN_OR_RETURN(const bool reached, Reaches(rest));
      if (reached) {
        groups = std::move(rest);
      } else {
        i += part;
      }
    }
    return absl::OkStatus();
  }

  const KeepRequest& request_;
  Kept best_;  // of those that reach the error the last, which has the fewest groups
};

// The names by which keep_f32 may name Nodes: those after the rewrites that precede it. Of the
// device these read whether it is a GPU.
absl::StatusOr<std::set<std::string>> NamesToKeep(const std::string& model, SessionOptions options,
                                                  const Session& session) {
  if (options.target.empty()) options.target = session.device() == "cpu" ? "cpu" : "h200";
  ASSIGN_OR_RETURN(const OwnedTarget target, MakeTarget(options.target));
  options.precision = PrecisionChoice::kStrict;
  RETURN_IF_ERROR(LoadOpLibraries(options.op_libraries));
  ASSIGN_OR_RETURN(Graph graph, LoadModel(model));
  ASSIGN_OR_RETURN(const OptimizedGraph optimized,
                   OptimizeGraph(std::move(graph), options, target.target));
  return NamesOfNodes(optimized.graph);
}

// Partitions by what f16 costs them, those that overflow first.
Groups RankedGroups(std::vector<CheckedPartition> partitions, const std::set<std::string>& names) {
  std::stable_sort(partitions.begin(), partitions.end(),
                   [](const CheckedPartition& a, const CheckedPartition& b) {
                     return std::pair(a.overflowed > 0, a.share_of_f32) >
                            std::pair(b.overflowed > 0, b.share_of_f32);
                   });
  Groups groups;
  for (const CheckedPartition& partition : partitions) {
    std::vector<std::string> group;
    for (const std::string& node : partition.nodes) {
      if (names.contains(node)) group.push_back(node);
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

absl::StatusOr<std::vector<OutputError>> ErrorsOf(const Session& session,
                                                  const std::vector<NamedView>& inputs,
                                                  const NamedTensors& expected) {
  Result<std::vector<Tensor>> outputs = session.Run(inputs);
  if (!outputs.ok()) return ToStatus(outputs.error());
  std::vector<OutputError> errors;
  for (size_t i = 0; i < outputs.value().size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    const HostTensor& right = expected.find(name)->second;
    if (!kFloatTypes.Has(right.dtype())) continue;
    ASSIGN_OR_RETURN(const Difference difference,
                     Compare(HostTensorOf(outputs.value()[i]), right, /*rtol=*/0, /*atol=*/0));
    OutputError& error = errors.emplace_back(OutputError{name});
    if (difference.largest == 0) continue;
    error.error = difference.largest_expected == 0
                      ? std::numeric_limits<double>::infinity()
                      : difference.largest / difference.largest_expected;
  }
  return errors;
}

nlohmann::ordered_json ErrorsJson(const std::vector<OutputError>& errors) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const OutputError& error : errors) json[error.output] = error.error;
  return json;
}

double LargestOf(const std::vector<OutputError>& errors) {
  double largest = 0;
  for (const OutputError& error : errors) largest = std::max(largest, error.error);
  return largest;
}

// "y 1e-3, z 0.02"
std::string ErrorsText(const std::vector<OutputError>& errors) {
  return absl::StrJoin(errors, ", ", [](std::string* text, const OutputError& error) {
    absl::StrAppendFormat(text, "%s %.3g", Printable(error.output), error.error);
  });
}

}  // namespace

absl::StatusOr<Kept> FindWhatToKeep(const KeepRequest& request) { return Search(request).Run(); }

absl::StatusOr<MaxErrorReport> FindMaxError(const std::string& model, const SessionOptions& session,
                                            const InputRequest& request, double most) {
  const bool is_short =
      session.precision == PrecisionChoice::kFp16 || session.precision == PrecisionChoice::kBf16;
  if (!is_short) return absl::InvalidArgumentError("--max-error needs --precision fp16 or bf16");
  const absl::Time deadline = absl::Now() + kMostTime;
  MaxErrorReport report{.model = model, .most = most};
  ASSIGN_OR_RETURN(const Session whole, LoadSession(model, session));
  report.precision = NameOf(whole.precision());
  ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs, MakeInputs(whole.inputs(), request));
  std::vector<NamedView> views;
  for (const ModelInput& input : inputs) views.push_back(ViewOf(input.tensor));
  ASSIGN_OR_RETURN(const NamedTensors expected, RunReference(model, session, views));
  ASSIGN_OR_RETURN(report.without, ErrorsOf(whole, views, expected));
  const double without = LargestOf(report.without);
  KeepRequest keep{.most = most, .deadline = deadline};
  if (!(without <= most)) {
    Result<std::vector<CheckedPartition>> checked = whole.CheckPartitions(views);
    if (!checked.ok()) return ToStatus(checked.error());
    ASSIGN_OR_RETURN(std::set<std::string> names, NamesToKeep(model, session, whole));
    for (const std::string& name : session.keep_f32) names.erase(name);
    keep.groups = RankedGroups(std::move(checked).value(), names);
  }
  std::map<std::vector<std::string>, std::vector<OutputError>> tried = {{{}, report.without}};
  keep.error = [&](const std::vector<std::string>& nodes) -> absl::StatusOr<double> {
    if (nodes.empty()) return without;
    SessionOptions options = session;
    options.keep_f32.insert(options.keep_f32.end(), nodes.begin(), nodes.end());
    ASSIGN_OR_RETURN(const Session kept, LoadSession(model, options));
    ASSIGN_OR_RETURN(tried[nodes], ErrorsOf(kept, views, expected));
    return LargestOf(tried[nodes]);
  };
  ASSIGN_OR_RETURN(report.found, FindWhatToKeep(keep));
  report.with = tried[report.found.keep];
  std::vector<std::string>& all = report.found.keep;
  all.insert(all.begin(), session.keep_f32.begin(), session.keep_f32.end());
  return report;
}

std::string MaxErrorText(const MaxErrorReport& report) {
  const Kept& found = report.found;
  std::string text = absl::StrFormat(
      "model   %s\nerror   %s in %s, of the largest element of each "
      "output; at most %.3g is asked\n",
      Printable(report.model), ErrorsText(report.without), report.precision, report.most);
  if (!found.is_reached) {
    absl::StrAppendFormat(&text, "keep    with all %d nodes in f32: %s\n", found.keep.size(),
                          ErrorsText(report.with));
  } else if (found.keep.empty()) {
    text += "keep    no node needs to stay in f32\n";
  } else {
    absl::StrAppendFormat(&text, "keep    with %d nodes in f32: %s\n  --keep-f32 %s\n",
                          found.keep.size(), ErrorsText(report.with),
                          Printable(absl::StrJoin(found.keep, ",")));
  }
  return text;
}

std::string MaxErrorJson(const MaxErrorReport& report) {
  const nlohmann::ordered_json json = {{"model", report.model},
                                       {"precision", report.precision},
                                       {"most", report.most},
                                       {"without", LargestOf(report.without)},
                                       {"outputs_without", ErrorsJson(report.without)},
                                       {"reached", report.found.is_reached},
                                       {"error", report.found.error},
                                       {"outputs", ErrorsJson(report.with)},
                                       {"keep_f32", report.found.keep},
                                       {"runs", report.found.runs}};
  return JsonText(json, /*indent=*/1);
}

ExitCode ExitCodeOf(const MaxErrorReport& report) {
  return report.found.is_reached ? kExitDone : kExitDifference;
}

}  // namespace onnx_cudnn

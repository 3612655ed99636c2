#include "tools/common/run_for_report.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tools/common/exit_codes.h"
#include "tools/common/expected.h"
#include "tools/common/files.h"
#include "tools/common/load_session.h"
#include "tools/common/new_shapes.h"
#include "tools/common/plan_flags.h"
#include "tools/common/reference_run.h"
#include "tools/common/report_page.h"
#include "tools/common/verify_partitions.h"

namespace onnx_cudnn {
namespace {

absl::Status WriteOutputs(const std::string& folder, const NamedTensors& outputs,
                          RunReport& report) {
  std::vector<std::string> names;
  for (const OutputReport& output : report.outputs) names.push_back(output.name);
  ASSIGN_OR_RETURN(const std::vector<std::string> files, WriteArrays(folder, names, outputs));
  for (size_t i = 0; i < files.size(); ++i) report.outputs[i].file = files[i];
  return absl::OkStatus();
}

absl::StatusOr<Expected> ReadExpectedIfAsked(const RunRequest& options, const Session& session) {
  if (options.verify.empty() || options.verify == kVerifyReference) return Expected{};
  return ReadExpected(options.verify, session.inputs(), session.outputs());
}

}  // namespace

absl::StatusOr<RunReport> RunForReport(RunRequest options) {
  if (!options.profile.page.empty()) RETURN_IF_ERROR(CheckReportPage());
  RunReport report{.model = options.model};
  if (!options.labels.empty()) {
    ASSIGN_OR_RETURN(report.labels, ReadLabels(options.labels));
  }
  SessionProfiler profiler(options.profile);
  ASSIGN_OR_RETURN(const Session session, LoadSession(options.model, options.session));
  report.device = session.device();
  report.note = session.device_note();
  if (const std::string& target = options.session.target; !target.empty()) {
    report.note = absl::StrCat("runs what ", target, " would, by the ops' references");
  }
  report.precision = NameOf(session.precision());
  report.precision_was_asked = options.session.precision != PrecisionChoice::kAuto;
  ASSIGN_OR_RETURN(Expected expected, ReadExpectedIfAsked(options, session));
  options.inputs.given = std::move(expected.inputs);
  ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs,
                   MakeInputs(session.inputs(), options.inputs));
  std::vector<NamedView> views;
  std::map<std::string, std::string, std::less<>> taken;
  for (const ModelInput& input : inputs) {
    taken[input.name] = input.taken;
    const std::string type = absl::StrCat(NameOf(input.tensor.dtype()),
                                          ToString(absl::MakeConstSpan(input.tensor.dims())));
    report.inputs.push_back({input.name, type, input.source});
    views.push_back(ViewOf(input.tensor));
  }
  const absl::StatusOr<std::vector<Tensor>> ran = RunOnce(session, views, report);
  if (!ran.ok()) return WithTakenDims(ran.status(), taken);
  const std::vector<Tensor>& outputs = *ran;
  if (options.verify == kVerifyReference) {
    ASSIGN_OR_RETURN(expected.outputs, RunReference(options.model, options.session, views));
  }
  PartitionChecks checks(session, views);
  if (options.check_partitions) {
    ASSIGN_OR_RETURN(report.partitions, checks.Get());
  }
  RETURN_IF_ERROR(profiler.Finish(session, views, report));
  RETURN_IF_ERROR(TimeRuns(session, options.timing, views, outputs, report));
  ASSIGN_OR_RETURN(report.new_shapes, TimeNewShapes(session, options.new_shapes, options.inputs,
                                                    options.timing.warm_up_ms));
  report.stats = session.stats();
  NamedTensors by_name;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    by_name[name] = HostTensorOf(outputs[i]);
    report.outputs.push_back(DescribeOutput(name, by_name[name], options.top));
  }
  WarnOfOverflow(options, session.precision(), views, checks, report);
  if (!options.output_dir.empty()) {
    RETURN_IF_ERROR(WriteOutputs(options.output_dir, by_name, report));
  }
  ASSIGN_OR_RETURN(report.verified, VerifyOutputs(expected.outputs, by_name, session.precision(),
                                                  options.rtol, options.atol));
  const bool finds = options.verify == kVerifyReference && !options.check_partitions;
  if (finds && !report.verify_ok()) FindDivergence(checks, report);
  return report;
}

}  // namespace onnx_cudnn

#include "tools/common/verify_partitions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/exec/in_f32.h"
#include "runtime/graph/op_library.h"
#include "runtime/import/onnx_loader.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"
#include "tools/common/reference_run.h"

namespace onnx_cudnn {
namespace {

int64_t NotFinite(const HostTensor& tensor) {
  const absl::StatusOr<std::vector<double>> values = ElementsAsDoubles(tensor);
  return values.ok() ? Summarize(*values).not_finite : 0;
}

// Whether a value of the model itself is f16 or bf16; false if the model cannot be read.
bool ModelHasShortFloats(const RunRequest& request) {
  if (!LoadOpLibraries(request.session.op_libraries).ok()) return false;
  const absl::StatusOr<Graph> graph = LoadModel(request.model);
  if (!graph.ok()) return false;
  const std::vector<Node*> nodes = graph->TopologicalOrder();
  return HasShortFloats(std::vector<const Node*>(nodes.begin(), nodes.end()));
}

// The first output with elements that the references in the model's own types do not make NaN or
// infinite; empty: none, or there are no references.
std::string BesideReference(const RunRequest& request, const std::vector<NamedView>& inputs,
                            const RunReport& report) {
  const absl::StatusOr<NamedTensors> exact = RunReference(request.model, request.session, inputs);
  if (!exact.ok()) return "";
  for (const OutputReport& output : report.outputs) {
    if (output.summary.not_finite == 0) continue;
    const int64_t more = output.summary.not_finite - NotFinite(exact->find(output.name)->second);
    if (more <= 0) continue;
    return absl::StrFormat(
        "output %s: %d elements are NaN or infinite in %s and finite in the model's own types",
        output.name, more, report.precision);
  }
  return "";
}

}  // namespace

const absl::StatusOr<std::vector<CheckedPartition>>& PartitionChecks::Get() {
  if (checked_.has_value()) return *checked_;
  Result<std::vector<CheckedPartition>> checked = session_.CheckPartitions(inputs_);
  if (checked.ok()) {
    checked_ = std::move(checked).value();
  } else {
    checked_ = ToStatus(checked.error());
  }
  return *checked_;
}

void WarnOfOverflow(const RunRequest& request, PrecisionChoice precision,
                    const std::vector<NamedView>& inputs, PartitionChecks& checks,
                    RunReport& report) {
  const bool is_lowered =
      precision == PrecisionChoice::kFp16 || precision == PrecisionChoice::kBf16;
  const bool looks_within = !request.verify.empty() || request.check_partitions;
  const auto output =
      std::find_if(report.outputs.begin(), report.outputs.end(),
                   [](const OutputReport& each) { return each.summary.not_finite > 0; });
  const bool is_finite = output == report.outputs.end();
  if (is_finite && !looks_within) return;
  if (!is_lowered && !ModelHasShortFloats(request)) return;
  if (!is_finite && is_lowered) report.warning = BesideReference(request, inputs, report);
  if (!report.warning.empty() && !looks_within) return;
  const auto& partitions = checks.Get();
  const CheckedPartition* const first =
      !partitions.ok()
          ? nullptr
          : FirstOf(*partitions, [](const CheckedPartition& p) { return p.overflowed > 0; });
  if (first == nullptr) return;
  const std::string where = absl::StrFormat("partition %d, %s", first->index, first->ops);
  if (!report.warning.empty()) {
    absl::StrAppend(&report.warning, "; first in ", where);
  } else if (!is_finite) {
    report.warning =
        absl::StrFormat("output %s: %d elements are NaN or infinite; first in %s, finite in f32",
                        output->name, output->summary.not_finite, where);
  } else {
    report.warning = absl::StrFormat(
        "outputs are finite, but %d elements within the model are NaN or infinite, and finite in "
        "f32: first in %s",
        first->overflowed, where);
  }
}

void FindDivergence(PartitionChecks& checks, RunReport& report) {
  const auto& partitions = checks.Get();
  if (!partitions.ok()) {
    report.divergence =
        absl::StrCat("where it begins is not known: ", partitions.status().message());
    return;
  }
  const CheckedPartition* const first =
      FirstOf(*partitions, [](const CheckedPartition& p) { return !p.ok; });
  if (first != nullptr) {
    report.partitions = {*first};
    return;
  }
  report.divergence =
      "each partition alone is right: a rewrite changes the model, or roundings add up "
      "(--bisect FOLDER)";
}

}  // namespace onnx_cudnn

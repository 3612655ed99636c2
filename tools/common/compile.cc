#include "tools/common/compile.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/file.h"
#include "runtime/base/parts_file.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/session/compiled_model.h"
#include "runtime/session/edge.h"
#include "tools/common/exit_codes.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {
namespace {

std::string TextOf(const CompileReport& report, const CompileRequest& request,
                   const std::string& output) {
  std::string text =
      absl::StrFormat("wrote   %s  for %s, %d bytes: %d plans%s, %d forms of weights\n", output,
                      request.target, report.bytes, report.plans,
                      report.has_partitions ? " with the partitions"
                      : report.has_cover    ? " and the partitions"
                                            : "",
                      report.forms);
  const auto add = [&](std::string_view note) {
    if (!note.empty()) absl::StrAppend(&text, "note    ", Printable(note), "\n");
  };
  add(report.not_optimized);
  const bool is_gpu = request.target != "cpu";  // which takes weights as they are
  if (is_gpu && !report.without_forms.empty()) {
    add(absl::StrCat("no forms of weights: ", report.without_forms));
  }
  if (is_gpu && report.plans == 0) {
    add(request.options.plan_cache.empty() ? "no plans: --plan-cache gives them"
                                           : "no plans: the plan cache has none for these inputs");
  }
  return text;
}

// Those of --shape and --input.
absl::StatusOr<CompiledInputs> InputsOf(const std::vector<ValueInfo>& infos) {
  ASSIGN_OR_RETURN(const auto filled, ShapesOf(infos, GivenInputs().shapes));
  CompiledInputs inputs;
  ASSIGN_OR_RETURN(inputs.values, SaidInputs(infos, GivenInputs()));
  for (const auto& [name, input] : filled) {
    const auto value = inputs.values.find(name);
    inputs.dims[name] = value == inputs.values.end() ? input.dims : value->second.dims();
  }
  return inputs;
}

}  // namespace

bool IsCompiledName(std::string_view output) { return absl::EndsWith(output, ".ocp"); }

absl::StatusOr<std::string> CompileToFile(const std::string& model, const CompileRequest& request,
                                          const std::string& output) {
  const auto choose = [](const std::vector<ValueInfo>& infos) -> Result<CompiledInputs> {
    absl::StatusOr<CompiledInputs> inputs = InputsOf(infos);
    if (!inputs.ok()) return ToError(inputs.status());
    return *std::move(inputs);
  };
  Result<CompileReport> report = CompileModelFile(model, request, choose, output);
  if (!report.ok()) return ToStatus(report.error());
  return TextOf(report.value(), request, output);
}

absl::StatusOr<std::string> CheckCompiled(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, File::Open(path));
  ASSIGN_OR_RETURN(const bool is_one, PartsFile::IsOne(file));
  if (!is_one) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is no compiled model; onnx-cudnn-run MODEL --check says which nodes run"));
  }
  ASSIGN_OR_RETURN(const auto parts, PartsFile::Open(file));
  int64_t bytes = 0;
  for (const std::string_view part : parts->parts()) {
    ASSIGN_OR_RETURN(const std::string_view read, parts->Read(part));
    bytes += static_cast<int64_t>(read.size());
  }
  ASSIGN_OR_RETURN(const auto compiled, CompiledModel::Create(parts));
  const CompiledFacts& facts = compiled->facts();
  return absl::StrFormat("checked %s  for %s, by version %s: %d parts, %d bytes, all whole\n",
                         Printable(path), Printable(facts.device), Printable(facts.version),
                         parts->parts().size(), bytes);
}

}  // namespace onnx_cudnn

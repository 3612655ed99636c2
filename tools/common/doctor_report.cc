#include "tools/common/doctor_report.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/common/json_text.h"
#include "tools/common/version_text.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

std::string Gigabytes(int64_t bytes) {
  return absl::StrFormat("%.1f GB", static_cast<double>(bytes) / 1e9);
}

std::string CapabilityOf(const GpuFacts& gpu) {
  return absl::StrFormat("%d.%d", gpu.compute_capability / 10, gpu.compute_capability % 10);
}

void AppendGpus(const DoctorReport& report, std::string& text) {
  std::string driver = report.driver;
  if (driver.empty()) driver = report.driver_cuda.empty() ? "none" : "of unknown version";
  if (!report.driver_cuda.empty()) absl::StrAppend(&driver, ", for CUDA ", report.driver_cuda);
  absl::StrAppend(&text, "driver    ", driver, "\n");
  if (report.gpus.empty()) text += "GPU       none\n";
  for (const GpuFacts& gpu : report.gpus) {
    absl::StrAppendFormat(&text, "GPU %-5d %s, compute capability %s, %s\n", gpu.ordinal,
                          gpu.product, CapabilityOf(gpu), Gigabytes(gpu.memory_bytes));
  }
}

void AppendHost(const DoctorReport& report, std::string& text) {
  for (const LibraryFacts& library : report.libraries) {
    absl::StrAppendFormat(&text, "library   %-30s %-10s %s\n", library.name, library.version,
                          library.file.empty() ? "none" : library.file);
  }
  absl::StrAppend(&text, "worker    ", report.tune_worker.empty() ? "none" : report.tune_worker,
                  "\nCPU       ");
  if (report.cores > 0) absl::StrAppend(&text, "cores: ", report.cores, ", ");
  absl::StrAppend(&text, "threads: ", report.threads, ", memory ", Gigabytes(report.memory_bytes),
                  "\n");
  const PlanCacheFacts& plans = report.plan_cache;
  if (plans.path.empty()) return;
  absl::StrAppendFormat(&text, "plans     %s: %d measured, %d of them for this GPU, %d failed\n",
                        plans.path, plans.entries, plans.for_this_gpu, plans.failed);
}

void AppendFinding(const DoctorFinding& finding, std::string& text) {
  absl::StrAppend(&text, "\n", finding.is_needed ? "missing   " : "advice    ", finding.what,
                  "\n  bring it  ", absl::StrReplaceAll(finding.remedy, {{"\n", "\n            "}}),
                  "\n  without   ", finding.without, "\n");
}

}  // namespace

DEFINE_JSON_FIELDS(BuildFacts, version, commit, compiler, cuda, cuda_architectures, onnx,
                   cudnn_frontend, oldest_opset, newest_opset)
DEFINE_JSON_FIELDS(LibraryFacts, name, version, file)
DEFINE_JSON_FIELDS(PlanCacheFacts, path, entries, for_this_gpu, failed)
DEFINE_JSON_FIELDS(DoctorFinding, what, remedy, without, is_needed)

static void to_json(Json& json, const GpuFacts& gpu) {
  json = {{"ordinal", gpu.ordinal},
          {"product", gpu.product},
          {"compute_capability", CapabilityOf(gpu)},
          {"memory_bytes", gpu.memory_bytes}};
}

std::string DoctorText(const DoctorReport& report) {
  std::string text = VersionText(report.build);
  AppendGpus(report, text);
  AppendHost(report, text);
  for (const DoctorFinding& finding : report.findings) AppendFinding(finding, text);
  return absl::StrCat(
      text, "\n",
      report.gpu_runs ? "models run on the GPU\n"
      : report.gpus.empty()
          ? "models run on the CPU: a run on a GPU needs what is missing above\n"
          : "a run on the GPU needs what is missing above; models run on the CPU\n");
}

std::string DoctorJson(const DoctorReport& report) {
  Json json;
  ADD_JSON_FIELDS(json, report, gpu_runs, build, driver, driver_cuda, gpus, libraries, tune_worker,
                  cores, threads, memory_bytes);
  if (!report.plan_cache.path.empty()) json["plan_cache"] = report.plan_cache;
  json["findings"] = report.findings;
  return JsonText(json, /*indent=*/1);
}

ExitCode ExitCodeOf(const DoctorReport& report) {
  return report.gpu_runs ? kExitDone : kExitNoDevice;
}

}  // namespace onnx_cudnn

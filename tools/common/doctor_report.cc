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

Json BuildJson(const BuildFacts& build) {
  return {{"version", build.version},
          {"commit", build.commit},
          {"compiler", build.compiler},
          {"cuda", build.cuda},
          {"cuda_architectures", build.cuda_architectures},
          {"onnx", build.onnx},
          {"cudnn_frontend", build.cudnn_frontend},
          {"oldest_opset", build.oldest_opset},
          {"newest_opset", build.newest_opset}};
}

// `items` as a list of the objects that `describe` makes.
template <typename T>
Json List(const std::vector<T>& items, Json (*describe)(const T&)) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(describe(item));
  return list;
}

Json GpuJson(const GpuFacts& gpu) {
  return {{"ordinal", gpu.ordinal},
          {"product", gpu.product},
          {"compute_capability", CapabilityOf(gpu)},
          {"memory_bytes", gpu.memory_bytes}};
}

Json LibraryJson(const LibraryFacts& library) {
  return {{"name", library.name}, {"version", library.version}, {"file", library.file}};
}

Json FindingJson(const DoctorFinding& finding) {
  return {{"what", finding.what},
          {"remedy", finding.remedy},
          {"without", finding.without},
          {"is_needed", finding.is_needed}};
}

}  // namespace

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
  const PlanCacheFacts& plans = report.plan_cache;
  Json json = {{"gpu_runs", report.gpu_runs},
               {"build", BuildJson(report.build)},
               {"driver", report.driver},
               {"driver_cuda", report.driver_cuda},
               {"gpus", List(report.gpus, GpuJson)},
               {"libraries", List(report.libraries, LibraryJson)},
               {"tune_worker", report.tune_worker},
               {"cores", report.cores},
               {"threads", report.threads},
               {"memory_bytes", report.memory_bytes}};
  if (!plans.path.empty()) {
    json["plan_cache"] = {{"path", plans.path},
                          {"entries", plans.entries},
                          {"for_this_gpu", plans.for_this_gpu},
                          {"failed", plans.failed}};
  }
  json["findings"] = List(report.findings, FindingJson);
  return JsonText(json, /*indent=*/1);
}

ExitCode ExitCodeOf(const DoctorReport& report) {
  return report.gpu_runs ? kExitDone : kExitNoDevice;
}

}  // namespace onnx_cudnn

#include "onnx_cudnn/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/exception.h"
#include "runtime/gpu/examine.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/worker_tuning.h"
#include "runtime/tune/plan_cache.h"

namespace onnx_cudnn {
namespace {

// Counts pairs of "physical id" and "core id"; 0 if the system lists none.
int CountCores() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> cores;
  std::string line, package;
  while (std::getline(file, line)) {
    if (absl::StartsWith(line, "physical id")) package = line;
    if (absl::StartsWith(line, "core id")) cores.insert(absl::StrCat(package, line));
  }
  return static_cast<int>(cores.size());
}

void ExamineHost(DoctorReport& report) {
  report.cores = CountCores();
  report.threads = static_cast<int>(std::thread::hardware_concurrency());
  report.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

void ExamineWorker(const std::string& asked, DoctorReport& report) {
  const std::string program = WorkerTuning::ProgramOf(asked);
  if (access(program.c_str(), X_OK) == 0) {
    report.tune_worker = program;
    return;
  }
  report.findings.push_back(
      {.what = absl::StrCat("found no program ", program),
       .remedy = "put onnx-cudnn-tune-worker beside this program, or give --tune-worker",
       .without = "tuning measures in this process, which a plan that hangs or crashes ends",
       .is_needed = false});
}

void ExaminePlanCache(const std::string& path, DoctorReport& report) {
  PlanCacheFacts& facts = report.plan_cache;
  facts.path = path;
  if (path.empty()) return;
  const absl::StatusOr<PlanFile> file = ReadPlanFile(path);
  if (!file.ok()) {
    report.findings.push_back({.what = std::string(file.status().message()),
                               .remedy = "onnx-cudnn-opt MODEL --tune --plan-cache FILE",
                               .without = "plans are chosen by predicted times",
                               .is_needed = false});
    return;
  }
  const absl::StatusOr<DeviceInfo> gpu = GpuInfo(/*ordinal=*/0);
  facts.entries = static_cast<int64_t>(file->entries.size());
  facts.failed = static_cast<int64_t>(file->failed.size());
  facts.for_this_gpu = std::count_if(
      file->entries.begin(), file->entries.end(),
      [&](const auto& entry) { return gpu.ok() && entry.second.device == gpu->name; });
}

void Examine(const DoctorOptions& options, DoctorReport& report) {
  ExamineGpus(report);
  ExamineHost(report);
  ExamineWorker(options.tune_worker, report);
  ExaminePlanCache(options.plan_cache, report);
  std::stable_partition(report.findings.begin(), report.findings.end(),
                        [](const DoctorFinding& finding) { return finding.is_needed; });
  report.gpu_runs = report.findings.empty() || !report.findings[0].is_needed;
}

}  // namespace

DoctorReport Doctor(const DoctorOptions& options) {
  DoctorReport report{.build = Version()};
  try {
    Examine(options, report);
  } catch (...) {
    report.findings.push_back({.what = std::string(StatusOfException().message()),
                               .remedy = "",
                               .without = "nothing further was examined"});
  }
  return report;
}

}  // namespace onnx_cudnn

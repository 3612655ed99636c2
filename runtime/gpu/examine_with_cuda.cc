#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/find_library.h"
#include "runtime/cuda/library_calls.h"
#include "runtime/gpu/examine.h"
#include "runtime/gpu/gpu.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kOnTheCpu = "models run on the CPU";

// ── The driver and the GPUs ──

// The line ID= of the system's description: "debian", "ubuntu"; empty: unknown.
std::string Distribution() {
  const absl::StatusOr<std::string> text = ReadFile("/etc/os-release", 1 << 16);
  if (!text.ok()) return "";
  for (std::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::ConsumePrefix(&line, "ID=")) return std::string(absl::StripSuffix(line, "\""));
  }
  return "";
}

std::string DriverRemedy() {
  const std::string distribution = Distribution();
  std::string remedy = "install NVIDIA's driver 580 or later with the system's package manager";
  if (distribution == "ubuntu") remedy = "sudo ubuntu-drivers install";
  if (distribution == "debian") {
    remedy = "sudo apt-get install nvidia-open   (from NVIDIA's package repository)";
  }
  return absl::StrCat(remedy,
                      "\nin a container: docker run --gpus all, with the driver on the host");
}

// The message of ListGpus or OpenCudaContext as a finding.
DoctorFinding GpuFinding(const absl::Status& status, bool has_driver) {
  std::string_view what = status.message();
  absl::ConsumePrefix(&what, "no usable GPU: ");
  std::string remedy = DriverRemedy();
  if (has_driver) {
    const size_t colon = what.rfind(": ");
    if (colon != what.npos) remedy = std::string(what.substr(colon + 2));
  }
  return {.what = std::string(what.substr(0, what.rfind(": "))),
          .remedy = std::move(remedy),
          .without = std::string(kOnTheCpu)};
}

void ExamineDevices(DoctorReport& report) {
  const GpuList list = ListGpus();
  report.driver = list.driver;
  if (list.driver_cuda > 0) report.driver_cuda = CudaVersionText(list.driver_cuda);
  for (const CudaFacts& facts : list.gpus) {
    report.gpus.push_back({.ordinal = static_cast<int>(report.gpus.size()),
                           .product = facts.product,
                           .compute_capability = facts.compute_capability,
                           .memory_bytes = facts.memory_bytes});
  }
  absl::Status status = list.status;
  if (status.ok()) {
    const KeepCurrentGpu keep(/*uses_gpu=*/true);
    status = OpenCudaContext().status();
  }
  if (!status.ok()) report.findings.push_back(GpuFinding(status, list.has_driver));
}

// ── Libraries ──

std::string VersionText(size_t version) {
  return absl::StrFormat("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

// The result of a function of `library` that takes nothing and returns a version like 91900.
std::string VersionBy(void* function) {
  return VersionText(reinterpret_cast<size_t (*)()>(function)());
}

std::string NvrtcVersion(void* function) {
  int major = 0, minor = 0;
  const int error = reinterpret_cast<int (*)(int*, int*)>(function)(&major, &minor);
  return error == 0 ? absl::StrCat(major, ".", minor) : "";
}

std::string DriverVersion(void* function) {
  int version = 0;
  const int error = reinterpret_cast<int (*)(int*)>(function)(&version);
  return error == 0 ? absl::StrCat("CUDA ", CudaVersionText(version)) : "";
}

struct Wanted {
  std::string name;
  const LibraryNeed& need;
  const char* function;  // tells the version
  std::string (*version)(void* function);
  std::string without;
  bool is_needed = true;
};

// Finds the library and tells its version and file in `facts`.
absl::Status ReadLibrary(const Wanted& wanted, LibraryFacts& facts) {
  ASSIGN_OR_RETURN(const FoundLibrary found, FindLibrary(wanted.need));
  facts.file = found.path;
  ASSIGN_OR_RETURN(void* const function, FindFunction(found, wanted.function));
  facts.version = wanted.version(function);
  if (std::string file = Libraries().file_of(function); !file.empty()) facts.file = file;
  const size_t least = wanted.need.least_version;
  if (least == 0 || reinterpret_cast<size_t (*)()>(function)() >= least) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("found ", wanted.name, " ", facts.version,
                                                    " in ", facts.file, ", needs ",
                                                    VersionText(least), " or later"));
}

void ExamineLibrary(const Wanted& wanted, DoctorReport& report) {
  LibraryFacts facts{.name = wanted.name};
  const absl::Status status = ReadLibrary(wanted, facts);
  report.libraries.push_back(facts);
  if (status.ok()) return;
  const std::string_view message = status.message();
  report.findings.push_back(
      {.what = std::string(message.substr(0, message.find("; install it"))),
       .remedy = absl::StrCat(wanted.need.install, "\nor, from NVIDIA's package repository: sudo ",
                              "apt-get install ", wanted.need.package, "\nor set ",
                              wanted.need.variable, " to the file"),
       .without = wanted.without,
       .is_needed = wanted.is_needed});
}

// The driver's own library, for which GpuFinding names the remedy.
void ExamineDriverLibrary(DoctorReport& report) {
  static const LibraryNeed& need =
      *new LibraryNeed{.name = "CUDA driver", .files = {"libcuda.so.1"}};
  LibraryFacts facts{.name = need.name};
  if (const absl::StatusOr<FoundLibrary> found = FindLibrary(need); found.ok()) {
    const absl::StatusOr<void*> function = FindFunction(*found, "cuDriverGetVersion");
    facts.file = function.ok() ? Libraries().file_of(*function) : found->path;
    if (function.ok()) facts.version = DriverVersion(*function);
  }
  report.libraries.push_back(facts);
}

// cuDNN opens its parts by name when it needs them, so a missing one shows late.
void ExaminePartsOfCudnn(DoctorReport& report) {
  const LibraryFacts& cudnn = report.libraries.back();
  const size_t slash = cudnn.file.rfind('/');
  if (slash == std::string::npos) return;
  const std::string folder = cudnn.file.substr(0, slash);
  std::string missing;
  for (const std::string_view part : {"graph", "heuristic", "engines_precompiled",
                                      "engines_runtime_compiled", "ops", "cnn", "adv"}) {
    const std::string file = absl::StrCat(folder, "/libcudnn_", part, ".so.9");
    const bool is_there = !Libraries().glob(file).empty();
    report.libraries.push_back(
        {.name = absl::StrCat("cuDNN ", part), .version = "", .file = is_there ? file : ""});
    if (!is_there)
      absl::StrAppend(&missing, missing.empty() ? "" : ", ", "libcudnn_", part, ".so.9");
  }
  if (missing.empty()) return;
  report.findings.push_back({.what = absl::StrCat("cuDNN in ", folder, " is without ", missing),
                             .remedy = CudnnLibrary().install,
                             .without = "the plans of the other parts"});
}

}  // namespace

void ExamineGpus(DoctorReport& report) {
  ExamineDevices(report);
  ExamineDriverLibrary(report);
  // In the order in which a Session opens them.
  ExamineLibrary({.name = "cuBLASLt",
                  .need = CublasLtLibrary(),
                  .function = "cublasLtGetVersion",
                  .version = VersionBy,
                  .without = "on a GPU, products run by cuDNN and our own kernels, slower"},
                 report);
  ExamineLibrary({.name = "NVRTC",
                  .need = NvrtcLibrary(),
                  .function = "nvrtcVersion",
                  .version = NvrtcVersion,
                  .without = "cuDNN refuses its engines that generate code, so fewer ops are fused",
                  .is_needed = false},
                 report);
  ExamineLibrary({.name = "cuDNN",
                  .need = CudnnLibrary(),
                  .function = "cudnnGetVersion",
                  .version = VersionBy,
                  .without = "on a GPU, convolutions run by our own kernels, slower"},
                 report);
  ExaminePartsOfCudnn(report);
}

absl::StatusOr<DeviceInfo> GpuInfo(int ordinal) {
  const GpuList list = ListGpus();
  RETURN_IF_ERROR(list.status);
  if (ordinal < static_cast<int>(list.gpus.size())) return DeviceInfoOf(list.gpus[ordinal]);
  return absl::FailedPreconditionError(
      absl::StrFormat("no usable GPU: found %d, needs one with the ordinal %d: choose a lower one",
                      list.gpus.size(), ordinal));
}

absl::StatusOr<int> GpuCount() {
  const GpuList list = ListGpus();
  RETURN_IF_ERROR(list.status);
  return static_cast<int>(list.gpus.size());
}

}  // namespace onnx_cudnn

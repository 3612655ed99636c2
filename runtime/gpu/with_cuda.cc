#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/cudnn_engine.h"
#include "runtime/cudnn/cuda/plan_compilers.h"
#include "runtime/exec/custom_engine.h"
#include "runtime/gemm/cuda/gemm_engine.h"
#include "runtime/gemm/cuda/lt_calls.h"
#include "runtime/gpu/gpu.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"

namespace onnx_cudnn {
namespace {

// Adds `engine`, or notes why it is missing: networks run without a library, only slower.
absl::Status AddOrNote(absl::StatusOr<std::unique_ptr<Engine>> engine, std::string_view name,
                       EngineList& engines, std::string& note) {
  if (engine.ok()) {
    engines.push_back(*std::move(engine));
    return absl::OkStatus();
  }
  if (!absl::IsFailedPrecondition(engine.status())) return engine.status();
  absl::StrAppend(&note, note.empty() ? "" : "; ", "without the engine ", name, ": ",
                  engine.status().message());
  return absl::OkStatus();
}

// Their contexts take at most an eighth of the GPU's memory, and a quarter of what is free. With
// one process nothing is gained.
std::unique_ptr<PlanCompilers> MakeCompilers(const CompilerProcesses& asked,
                                             const DeviceInfo& info) {
  constexpr int64_t kContextBytes = int64_t{768} << 20;
  const int64_t bytes = std::min(info.memory_bytes / 8, FreeDeviceBytes() / 4);
  const auto processes = static_cast<int>(std::min<int64_t>(asked.most, bytes / kContextBytes));
  if (processes < 2 || !LoadCudnn().ok()) return nullptr;
  return std::make_unique<PlanCompilers>(asked.command, processes);
}

// cuDNN opens libcublasLt by name, so libcublasLt is opened first. The Engines say what is missing.
void OpenLibraries() {
  LoadLt().IgnoreError();
  LoadCudnn().IgnoreError();
}

}  // namespace

std::future<void> OpenGpuLibraries() { return std::async(OpenLibraries); }

absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device& gpu, int ordinal, const GpuSetup& setup) {
  std::string note;
  OpenLibraries();
  std::unique_ptr<PlanCompilers> made = MakeCompilers(setup.compilers, gpu.info());
  const PlanCompilers* const counted = made.get();
  EngineList engines;
  RETURN_IF_ERROR(AddOrNote(MakeCudnnEngine(ordinal, setup.expects_cudnn, std::move(made)), "cudnn",
                            engines, note));
  RETURN_IF_ERROR(AddOrNote(MakeGemmEngine(ordinal), "gemm", engines, note));
  engines.push_back(MakeCudaKernels());
  engines.push_back(MakeCustomEngine(ordinal));
  OwnedTarget target = TargetOver(GpuEngines(std::move(engines)), gpu.info());
  target.note = std::move(note);
  if (counted != nullptr) target.compilers = [=] { return counted->running(); };
  return target;
}

absl::Status CompilePlans(int ordinal, int socket) {
  OpenLibraries();
  return ServePlansFor(ordinal, socket);
}

}  // namespace onnx_cudnn

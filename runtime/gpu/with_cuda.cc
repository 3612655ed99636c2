#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/cudnn/cuda/cudnn_engine.h"
#include "runtime/cudnn/cuda/plan_compilers.h"
#include "runtime/exec/custom_engine.h"
#include "runtime/gemm/cuda/gemm_engine.h"
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

// Processes that compile plans: half as many as the host has cores, since what asks has threads of
// its own; their contexts take at most an eighth of the GPU's memory.
int CompilersFor(const DeviceInfo& info) {
  constexpr int64_t kContextBytes = int64_t{768} << 20;
  constexpr int kMost = 8;
  const int64_t fit = info.memory_bytes / 8 / kContextBytes;
  const int wanted = std::min(kMost, ThreadPool::Default().threads() / 2);
  const int processes = static_cast<int>(std::min<int64_t>(wanted, fit));
  return processes < 2 ? 0 : processes;
}

}  // namespace

absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device& gpu, int ordinal,
                                          const std::vector<std::string>& compiler) {
  std::string note;
  // cuDNN opens libcublasLt by name, so libcublasLt is opened first.
  absl::StatusOr<std::unique_ptr<Engine>> gemm = MakeGemmEngine(ordinal);
  const int compilers = compiler.empty() ? 0 : CompilersFor(gpu.info());
  EngineList engines;
  RETURN_IF_ERROR(AddOrNote(
      MakeCudnnEngine(
          ordinal, compilers == 0 ? nullptr : std::make_unique<PlanCompilers>(compiler, compilers)),
      "cudnn", engines, note));
  RETURN_IF_ERROR(AddOrNote(std::move(gemm), "gemm", engines, note));
  engines.push_back(MakeCudaKernels());
  engines.push_back(MakeCustomEngine(ordinal));
  OwnedTarget target = TargetOver(GpuEngines(std::move(engines)), gpu.info());
  target.note = std::move(note);
  target.compilers = std::max(1, compilers);
  return target;
}

absl::Status CompilePlans(int ordinal, int socket) {
  const absl::StatusOr<std::unique_ptr<Engine>> gemm = MakeGemmEngine(ordinal);  // as above
  return ServePlansFor(ordinal, socket);
}

}  // namespace onnx_cudnn

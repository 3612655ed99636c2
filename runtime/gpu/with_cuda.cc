#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cudnn/cuda/cudnn_engine.h"
#include "runtime/gemm/cuda/gemm_engine.h"
#include "runtime/gpu/gpu.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"

namespace onnx_cudnn {
namespace {

// Adds `engine`, or the reason why there is none to `note`: networks run without a library, slower.
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

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenGpu() { return OpenCudaDevice(); }

absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device& gpu) {
  std::string note;
  // cuDNN opens libcublasLt by its name, so that one is opened first.
  absl::StatusOr<std::unique_ptr<Engine>> gemm = MakeGemmEngine(kCudaOrdinal);
  EngineList engines;
  RETURN_IF_ERROR(AddOrNote(MakeCudnnEngine(kCudaOrdinal), "cudnn", engines, note));
  RETURN_IF_ERROR(AddOrNote(std::move(gemm), "gemm", engines, note));
  engines.push_back(MakeCudaKernels());
  OwnedTarget target = TargetOver(GpuEngines(std::move(engines)), gpu.info());
  target.note = std::move(note);
  return target;
}

}  // namespace onnx_cudnn

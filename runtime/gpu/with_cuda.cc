#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/cudnn_engine.h"
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

}  // namespace

absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device& gpu, int ordinal) {
  std::string note;
  // cuDNN opens libcublasLt by name, so libcublasLt is opened first.
  absl::StatusOr<std::unique_ptr<Engine>> gemm = MakeGemmEngine(ordinal);
  EngineList engines;
  RETURN_IF_ERROR(AddOrNote(MakeCudnnEngine(ordinal), "cudnn", engines, note));
  RETURN_IF_ERROR(AddOrNote(std::move(gemm), "gemm", engines, note));
  engines.push_back(MakeCudaKernels());
  engines.push_back(MakeCustomEngine(ordinal));
  OwnedTarget target = TargetOver(GpuEngines(std::move(engines)), gpu.info());
  target.note = std::move(note);
  return target;
}

}  // namespace onnx_cudnn
